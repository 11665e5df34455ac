local sql = require "alisio.data.sql"

describe("alisio.data.sql", function()
  it("quotes names", function()
    assert.equal('"total"', sql.name "total")
    assert.equal('"a "" b"', sql.name 'a " b')
  end)

  it("quotes texts", function()
    assert.equal("'Norte'", sql.text "Norte")
    assert.equal("'O''Higgins'", sql.text "O'Higgins")
  end)
end)
