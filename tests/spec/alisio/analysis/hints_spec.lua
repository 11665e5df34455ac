local hints = require "alisio.analysis.hints"

describe("alisio.analysis.hints", function()
  local function install(text)
    local hint = hints.install(text)
    return hint.system, hint.command
  end

  it("knows the package manager of each family", function()
    local cases = {
      { 'ID=debian\nVERSION_ID="12"', "apt", "sudo apt-get install python3" },
      { 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"', "apt", "sudo apt-get install python3" },
      { "ID=fedora\nVERSION_ID=41", "dnf", "sudo dnf install python3" },
      { 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"', "dnf", "sudo dnf install python3.11" },
      { 'ID="rhel"\nVERSION_ID="10.0"', "dnf", "sudo dnf install python3" },
      { "ID=arch", "pacman", "sudo pacman -S python" },
      { 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\nVERSION_ID="20250101"', "zypper", "sudo zypper install python3" },
      { 'ID="opensuse-leap"\nVERSION_ID="15.6"', "zypper", "sudo zypper install python311" },
      { "ID=alpine\nVERSION_ID=3.20.1", "apk", "sudo apk add python3" },
      { "ID=pop\nID_LIKE='ubuntu debian'\r\nVERSION_ID=22.04", "apt", "sudo apt-get install python3" },
    }
    for _, case in ipairs(cases) do
      assert.are.same({ case[2], case[3] }, { install(case[1]) }, case[1])
    end
  end)

  it("names no package where the system's own is older", function()
    assert.are.same({ "old" }, { install 'ID=debian\nVERSION_ID="11"\nPRETTY_NAME="Debian 11"' })
    assert.matches("Debian 11", hints.text("en", hints.install 'ID=debian\nVERSION_ID="11"\nPRETTY_NAME="Debian 11"'), 1, true)
  end)

  it("has an answer for systems it does not know", function()
    for _, text in ipairs { "", "ID=plan9", "nonsense\n\0\255" } do
      assert.are.same({ "other" }, { install(text) })
    end
    assert.matches("python.org", hints.text("en", hints.install ""), 1, true)
  end)

  it("speaks both languages", function()
    local hint = hints.install "ID=alpine"
    assert.equal("Install it: sudo apk add python3", hints.text("en", hint))
    assert.equal("Instálelo: sudo apk add python3", hints.text("es", hint))
  end)

  it("names the way of macOS and Windows, and where pip is a package of its own", function()
    local brew = { system = "brew", command = "brew install python3" }
    assert.equal("Install it: brew install python3, or take it from https://www.python.org/downloads/.", hints.text("en", brew))
    assert.matches("winget install", hints.text("en", { system = "winget", command = "winget install Python.Python.3.13" }), 1, true)
    local cases = {
      { 'ID=debian\nVERSION_ID="12"', "sudo apt-get install python3-venv" },
      { "ID=fedora\nVERSION_ID=41", "sudo dnf install python3-pip" },
      { "ID=arch", "sudo pacman -S python-pip" },
      { "ID=alpine", "sudo apk add py3-pip" },
      { "ID=plan9", "https://www.python.org/downloads/" },
    }
    for _, case in ipairs(cases) do
      assert.matches(case[2], hints.pip("en", hints.install(case[1])), 1, true)
    end
  end)

  it("tells of the system it runs on", function()
    assert.is_string(hints.install().system)
  end)
end)
