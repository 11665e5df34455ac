"""What a script would try to get out of its sandbox. test_sandbox puts this file in front of a script,
FACTS holds what there is to be reached outside:

  secret, folder, tool, link   a readable file with the text SECRET, its folder, a program there and a link
  fifo, socket, datagram       of other processes
  abstract, tcp, udp           names and ports of listeners
  victim                       another process of this user, which tells of SIGWINCH
  state, other, shared         the state folder, the folder of another job, a file in the system's /dev/shm
  shm_key                      a segment of shared memory
  prefix                       folder of the interpreter

A probe is refused when it raises OSError or answers with nothing; what it answers else is what it
reached. None does harm where it is not refused.
"""
import array
import ctypes
import fcntl
import json
import mmap
import os
import platform
import signal
import socket
import struct
import subprocess
import sys

FACTS = json.loads(os.environ.get("PROBE_FACTS") or "{}")
WORK = os.environ.get("ALISIO_WORK_DIR") or os.getcwd()
JOB = os.path.dirname(WORK)
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X86 = platform.machine() == "x86_64"


def open_descriptors():
    found = []
    for fd in range(3, 1024):
        try:
            os.fstat(fd)
            found.append(fd)
        except OSError:
            pass
    return found


INHERITED = open_descriptors()
# name: x86_64, aarch64; from 424 on all have the same
CALLS = {
    "ptrace": (101, 117), "syslog": (103, 116), "personality": (135, 92), "modify_ldt": (154, None), "pivot_root": (155, 41),
    "acct": (163, 89), "settimeofday": (164, 170), "mount": (165, 40), "umount2": (166, 39), "swapon": (167, 224),
    "reboot": (169, 142), "sethostname": (170, 161), "iopl": (172, None), "init_module": (175, 105), "quotactl": (179, 60),
    "chroot": (161, 51), "clone": (56, 220), "shmget": (29, 194), "shmat": (30, 196), "semget": (64, 190), "msgget": (68, 186),
    "mq_open": (240, 180), "kexec_load": (246, 104), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "ioprio_set": (251, 30), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27), "move_pages": (279, 239),
    "unshare": (272, 97), "perf_event_open": (298, 241), "fanotify_init": (300, 262), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "setns": (308, 268), "process_vm_readv": (310, 270), "kcmp": (312, 272),
    "memfd_create": (319, 279), "bpf": (321, 280), "userfaultfd": (323, 282), "rt_sigqueueinfo": (129, 138), "tgkill": (234, 131),
    "capget": (125, 90), "process_madvise": (440, 440), "openat2": (437, 437), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "open_tree": (428, 428), "fsopen": (430, 430), "io_uring_setup": (425, 425),
    "clone3": (435, 435), "mount_setattr": (442, 442), "statmount": (457, 457),
}
FD_CWD, EMPTY_PATH = -100, 0x1000
PROBES = []


def probe(kind):
    def add(function):
        PROBES.append((kind, function.__name__.replace("_", " "), function))
        return function
    return add


def call(name, *args):
    number = CALLS[name][0 if X86 else 1]
    if number is None:
        raise OSError(38, name)
    # Numbers become longs, for a pointer may be among them.
    given = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    answer = libc.syscall(ctypes.c_long(number), *given)
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def read(path):
    with open(path, "rb") as file:
        return file.read(100)


def in_child(function):
    """The exit status of the function in a process of its own; negative when a signal ended it."""
    pid = os.fork()
    if pid == 0:
        status = 111
        try:
            status = function() or 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


# ---- files: reading ----

@probe("files")
def read_a_file():
    return read(FACTS["secret"])


@probe("files")
def list_its_folder():
    return os.listdir(FACTS["folder"])


@probe("files")
def list_the_home_of_the_user():
    import pwd
    return os.listdir(pwd.getpwuid(os.getuid()).pw_dir)


@probe("files")
def read_the_list_of_users():
    return read("/etc/passwd")


@probe("files")
def read_the_passwords():
    return read("/etc/shadow") if os.getuid() == 0 else None


@probe("files")
def read_the_name_of_the_machine():
    return read("/etc/hostname")


@probe("files")
def list_the_state_folder():
    return os.listdir(FACTS["state"])


@probe("files")
def read_the_sessions():
    return read(os.path.join(FACTS["state"], "sessions.sqlite"))


@probe("files")
def read_the_record_of_the_job():
    return read(os.path.join(JOB, "job.json"))


@probe("files")
def list_the_folder_of_the_job_above():
    return "job.json" in os.listdir(JOB)


@probe("files")
def read_another_job():
    return read(os.path.join(FACTS["other"], "script/main.py"))


@probe("files")
def climb_from_a_folder_held_open():
    fd = os.open(WORK, os.O_RDONLY | os.O_DIRECTORY)
    up = os.path.relpath(FACTS["secret"], WORK)
    return os.read(os.open(up, os.O_RDONLY, dir_fd=fd), 100)


@probe("files")
def open_by_openat2():
    how = struct.pack("QQQ", os.O_RDONLY, 0, 0)
    return os.read(call("openat2", FD_CWD, FACTS["secret"].encode(), how, len(how)), 100)


@probe("files")
def read_by_a_path_descriptor():
    fd = os.open(FACTS["secret"], os.O_PATH)
    return read(f"/proc/self/fd/{fd}")


@probe("files")
def open_by_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    mount = ctypes.c_int()
    call("name_to_handle_at", FD_CWD, FACTS["secret"].encode(), handle, ctypes.byref(mount), 0)
    return os.read(call("open_by_handle_at", os.open("/", os.O_RDONLY), handle, os.O_RDONLY), 100)


@probe("files")
def map_a_file():
    with open(FACTS["secret"], "rb") as file:
        return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:6]


@probe("files")
def run_a_program_outside():
    return subprocess.run([FACTS["tool"]], capture_output=True).stdout


@probe("files")
def let_a_program_of_the_system_read_it():
    return subprocess.run(["/usr/bin/cat", FACTS["secret"]], capture_output=True).stdout


@probe("files")
def read_extended_attributes():
    return os.getxattr(FACTS["secret"], "user.secret")


@probe("files")
def hear_of_changes_in_a_folder():
    fd = call("inotify_init1", 0)
    return call("inotify_add_watch", fd, FACTS["folder"].encode(), 0xfff)


@probe("files")
def open_a_fifo_of_another_process():
    return os.open(FACTS["fifo"], os.O_RDONLY | os.O_NONBLOCK)


@probe("files")
def read_the_disk():
    with open("/proc/partitions", encoding="ascii") as file:
        names = [line.split()[-1] for line in file.readlines()[2:]]
    return read("/dev/" + names[-1])


@probe("files")
def make_the_disk_a_device_of_its_own():
    path = os.path.join(WORK, "disk")
    os.mknod(path, 0o60600, os.makedev(254, 0))
    return True


# ---- files: writing ----

@probe("writing")
def write_to_a_file():
    with open(FACTS["secret"], "ab") as file:
        return file.write(b"SECRET")


@probe("writing")
def make_a_file():
    return os.open(os.path.join(FACTS["folder"], "made"), os.O_CREAT | os.O_WRONLY)


@probe("writing")
def make_a_nameless_file():
    return os.open(FACTS["folder"], os.O_TMPFILE | os.O_RDWR)


@probe("writing")
def make_a_folder():
    os.mkdir(os.path.join(FACTS["folder"], "made-folder"))
    return True


@probe("writing")
def make_a_link_outside():
    os.symlink("/", os.path.join(FACTS["folder"], "made-link"))
    return True


@probe("writing")
def make_a_fifo_outside():
    os.mkfifo(os.path.join(FACTS["folder"], "made-fifo"))
    return True


@probe("writing")
def remove_a_file():
    os.unlink(os.path.join(FACTS["folder"], "removable"))
    return True


@probe("writing")
def rename_a_file():
    os.rename(os.path.join(FACTS["folder"], "movable"), os.path.join(FACTS["folder"], "moved"))
    return True


@probe("writing")
def take_a_file_in():
    os.rename(os.path.join(FACTS["folder"], "takable"), os.path.join(WORK, "taken"))
    return True


@probe("writing")
def put_a_file_out():
    path = os.path.join(WORK, "out")
    open(path, "w").close()
    os.rename(path, os.path.join(FACTS["folder"], "put"))
    return True


@probe("writing")
def truncate_a_file():
    os.truncate(os.path.join(FACTS["folder"], "long"), 1)
    return True


def seen(change, look):
    """Some changes are answered and not made."""
    before = look()
    change()
    return look() != before


@probe("writing")
def change_the_mode_of_a_file():
    return seen(lambda: os.chmod(FACTS["secret"], 0o644), lambda: os.stat(FACTS["secret"]).st_mode)


@probe("writing")
def change_the_owner_of_a_file():
    os.chown(FACTS["secret"], os.getuid(), os.getgid())
    return True


@probe("writing")
def change_the_times_of_a_file():
    return seen(lambda: os.utime(FACTS["secret"], (1, 1)), lambda: os.stat(FACTS["secret"]).st_mtime)


@probe("writing")
def set_an_extended_attribute():
    os.setxattr(FACTS["secret"], "user.probe", b"x")
    return True


@probe("writing")
def change_the_flags_of_the_interpreter():
    with open(os.__file__, "rb") as file:
        flags = array.array("l", [0])
        fcntl.ioctl(file, 0x80086601, flags)  # FS_IOC_GETFLAGS
        return fcntl.ioctl(file, 0x40086602, flags) == 0  # FS_IOC_SETFLAGS


@probe("writing")
def write_into_the_interpreter():
    return os.open(os.path.join(os.path.dirname(os.__file__), "sitecustomize-probe"), os.O_CREAT | os.O_WRONLY)


@probe("writing")
def write_to_the_script():
    return os.open(os.path.join(JOB, "script/main.py"), os.O_WRONLY)


@probe("writing")
def write_to_an_input():
    os.chmod(os.path.join(JOB, "input/inputs.json"), 0o600)
    return os.open(os.path.join(JOB, "input/inputs.json"), os.O_WRONLY)


@probe("writing")
def replace_an_input():
    os.rename(os.path.join(JOB, "input/inputs.json"), os.path.join(JOB, "input/other.json"))
    return True


@probe("writing")
def write_to_the_record_of_the_job():
    return os.open(os.path.join(JOB, "job.json"), os.O_WRONLY)


@probe("writing")
def write_to_the_logs():
    return os.open(os.path.join(JOB, "logs/other.log"), os.O_WRONLY | os.O_CREAT)


@probe("writing")
def write_to_the_folder_for_all():
    fd = os.open("/tmp/alisio-probe", os.O_CREAT | os.O_WRONLY)
    os.unlink("/tmp/alisio-probe")
    return fd


@probe("writing")
def write_to_a_setting_of_the_kernel():
    with open("/proc/sys/kernel/core_pattern", "r+", encoding="ascii") as file:
        return file.fileno()


# ---- links ----

@probe("links")
def follow_a_link_of_its_own():
    path = os.path.join(WORK, "link")
    os.symlink(FACTS["secret"], path)
    return read(path)


@probe("links")
def follow_a_link_to_a_folder():
    path = os.path.join(WORK, "folder")
    os.symlink(FACTS["folder"], path)
    return os.listdir(path)


@probe("links")
def follow_a_link_outside():
    return read(FACTS["link"])


@probe("links")
def make_a_hard_link():
    os.link(FACTS["secret"], os.path.join(WORK, "hard"))
    return True


@probe("links")
def make_a_hard_link_of_a_descriptor():
    fd = os.open(FACTS["secret"], os.O_PATH)
    os.link(f"/proc/self/fd/{fd}", os.path.join(WORK, "hard2"), follow_symlinks=True)
    return True


@probe("links")
def make_a_hard_link_of_the_interpreter():
    os.link(os.__file__, os.path.join(WORK, "hard3"))
    return True


# ---- /proc, /sys, /dev ----

@probe("proc")
def list_the_processes():
    return [n for n in os.listdir("/proc") if n.isdigit()]


@probe("proc")
def read_the_environment_of_another():
    return read(f"/proc/{FACTS['victim']}/environ")


@probe("proc")
def read_the_command_of_another():
    return read(f"/proc/{FACTS['victim']}/cmdline")


@probe("proc")
def go_through_the_root_of_another():
    return read(f"/proc/{FACTS['victim']}/root{FACTS['secret']}")


@probe("proc")
def go_through_the_root_of_its_own():
    return read(f"/proc/self/root{FACTS['secret']}")


@probe("proc")
def open_a_descriptor_of_another():
    return os.open(f"/proc/{FACTS['victim']}/fd/0", os.O_RDONLY)


@probe("proc")
def open_a_descriptor_of_the_supervisor():
    return os.listdir(f"/proc/{os.getppid()}/fd")


@probe("proc")
def write_to_the_memory_of_another():
    return os.open(f"/proc/{FACTS['victim']}/mem", os.O_RDWR)


@probe("proc")
def read_where_things_are_mounted():
    return read("/proc/self/mountinfo")


@probe("proc")
def list_the_devices_of_the_system():
    return os.listdir("/sys")


@probe("proc")
def read_the_log_of_the_kernel():
    return call("syslog", 10, 0, 0)


@probe("proc")
def open_the_terminal():
    return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)


@probe("proc")
def make_a_terminal():
    return os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)


@probe("proc")
def read_shared_memory_of_the_system():
    return read(FACTS["shared"])


# ---- unix sockets ----

@probe("unix")
def connect_to_a_socket():
    s = socket.socket(socket.AF_UNIX)
    s.connect(FACTS["socket"])
    return True


@probe("unix")
def make_a_socket():
    s = socket.socket(socket.AF_UNIX)
    s.bind("made.sock")
    return True


@probe("unix")
def send_a_datagram_by_half_a_pair():
    a, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return a.sendto(b"x", FACTS["datagram"])


@probe("unix")
def send_a_message_by_half_a_pair():
    a, _ = socket.socketpair()
    return a.sendmsg([b"x"], [], 0, FACTS["socket"])


@probe("unix")
def connect_half_a_pair_again():
    a, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.connect(FACTS["datagram"])
    return True


@probe("abstract")
def connect_to_an_abstract_socket():
    s = socket.socket(socket.AF_UNIX)
    s.connect("\0" + FACTS["abstract"])
    return True


@probe("abstract")
def make_an_abstract_socket():
    s = socket.socket(socket.AF_UNIX)
    s.bind("\0alisio-probe-" + str(os.getpid()))
    return True


# ---- the network ----

@probe("tcp")
def connect_by_tcp():
    return socket.create_connection(("127.0.0.1", FACTS["tcp"]), 2).fileno()


@probe("tcp")
def listen_by_tcp():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen()
    return s.fileno()


@probe("tcp")
def connect_by_ipv6():
    return socket.socket(socket.AF_INET6, socket.SOCK_STREAM).fileno()


@probe("tcp")
def connect_by_mptcp():
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).fileno()


@probe("udp")
def send_by_udp():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", FACTS["udp"]))


@probe("udp")
def ask_for_a_name():
    return socket.getaddrinfo("localhost.alisio.test", 80)


@probe("udp")
def send_a_ping():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).fileno()


@probe("sockets")
def open_a_raw_socket():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW).fileno()


@probe("sockets")
def open_a_packet_socket():
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW).fileno()


@probe("netlink")
def ask_the_kernel_by_netlink():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    s.bind((0, 0))
    return s.fileno()


@probe("netlink")
def hear_of_devices():
    return socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15).fileno()


@probe("vsock")
def open_a_socket_to_the_hypervisor():
    return socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).fileno()


@probe("sockets")
def open_a_socket_of_ciphers():
    return socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET).fileno()


@probe("sockets")
def open_a_socket_of_any_family():
    open_ones = []
    for family in range(46):
        try:
            open_ones.append(socket.socket(family, socket.SOCK_STREAM).family)
        except OSError:
            pass
    return open_ones


# ---- io_uring, ptrace, keys ----

@probe("io_uring")
def make_a_ring():
    return call("io_uring_setup", 4, ctypes.create_string_buffer(240))


@probe("ptrace")
def trace_another():
    call("ptrace", 16, FACTS["victim"], 0, 0)
    os.waitpid(FACTS["victim"], 0)
    return True


@probe("ptrace")
def trace_a_child():
    def body():
        call("ptrace", 0, 0, 0, 0)
    return in_child(body) == 0


@probe("ptrace")
def read_the_memory_of_another():
    here = ctypes.create_string_buffer(8)
    vec = struct.pack("PN", ctypes.addressof(here), 8)
    with open(f"/proc/{FACTS['victim']}/maps", encoding="utf-8") as file:
        start = int(file.readline().split("-")[0], 16)
    return call("process_vm_readv", FACTS["victim"], vec, 1, struct.pack("PN", start, 8), 1, 0)


@probe("ptrace")
def take_a_descriptor_of_another():
    return call("pidfd_getfd", call("pidfd_open", FACTS["victim"], 0), 0, 0)


@probe("ptrace")
def compare_with_another():
    return call("kcmp", os.getpid(), FACTS["victim"], 2, 0, 0) >= 0


@probe("ptrace")
def move_the_pages_of_another():
    return call("move_pages", FACTS["victim"], 0, 0, 0, 0, 0) == 0


@probe("keyctl")
def look_at_the_keys():
    return call("keyctl", 0, -3, 1)


@probe("keyctl")
def add_a_key():
    return call("add_key", b"user", b"alisio-probe", b"x", 1, -2)


@probe("keyctl")
def ask_for_a_key():
    try:
        return call("request_key", b"user", b"alisio-probe-none", 0, 0)
    except OSError as error:
        return error.errno == 126  # ENOKEY: it was looked for


# ---- namespaces and mounts ----

NEW = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
       "process": 0x20000000, "network": 0x40000000}


def unshared(*names):
    def body():
        call("unshare", sum(NEW[name] for name in names))
    return in_child(body) == 0


@probe("userns")
def unshare_users():
    return unshared("user")


@probe("userns")
def unshare_users_and_mounts():
    return unshared("user", "mount")


@probe("userns")
def unshare_users_and_the_network():
    return unshared("user", "network")


@probe("userns")
def clone_with_new_users():
    pid = call("clone", NEW["user"] | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


@probe("userns")
def clone3_with_new_users():
    args = struct.pack("8Q", NEW["user"], 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    pid = call("clone3", args, len(args))
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


@probe("userns")
def enter_the_namespaces_of_another():
    fd = call("pidfd_open", FACTS["victim"], 0)
    def body():
        call("setns", fd, NEW["user"] if os.getuid() else NEW["network"])
    return in_child(body) == 0


def in_new_mounts(body):
    """Where mounting is allowed at all it stays in a namespace of its own."""
    def whole():
        if os.getuid() == 0:
            try:
                call("unshare", NEW["mount"])
                call("mount", 0, b"/", 0, 0x44000, 0)
            except OSError:
                pass
        body()
    return in_child(whole) == 0


@probe("mount")
def mount_a_file_system():
    return in_new_mounts(lambda: call("mount", b"none", WORK.encode(), b"tmpfs", 0, 0))


@probe("mount")
def mount_over_the_work_folder():
    return in_new_mounts(lambda: call("mount", b"/", WORK.encode(), 0, 4096, 0))


@probe("mount")
def make_everything_writable():
    attr = struct.pack("QQQQ", 0, 1, 0, 0)
    return in_new_mounts(lambda: call("mount_setattr", FD_CWD, b"/", 0x8000, attr, len(attr)))


@probe("mount")
def unmount():
    return in_new_mounts(lambda: call("umount2", b"/dev/shm", 2))


@probe("mount")
def change_the_root():
    return in_new_mounts(lambda: call("chroot", WORK.encode()))


@probe("mount")
def pivot_the_root():
    return in_new_mounts(lambda: call("pivot_root", b"/tmp", b"/tmp") if os.getuid() else call("umount2", b"/dev/shm", 2))


@probe("mount")
def open_a_file_system():
    return call("fsopen", b"tmpfs", 0)


@probe("mount")
def clone_a_tree():
    return call("open_tree", FD_CWD, b"/", 1)


# ---- signals and the like to others ----

@probe("signals")
def signal_another():
    os.kill(FACTS["victim"], 0)
    return True


@probe("signals")
def signal_the_supervisor():
    parent = os.getppid()
    if parent <= 1 and os.getpid() < 10:  # of its own namespace: out of reach is what counts
        os.kill(parent, signal.SIGUSR1)
        return False
    os.kill(parent, 0)
    return True


@probe("signals")
def signal_a_thread_of_another():
    return call("tgkill", FACTS["victim"], FACTS["victim"], 0) == 0


@probe("signals")
def queue_a_signal_to_another():
    info = struct.pack("iii", 0, 0, -1).ljust(128, b"\0")
    return call("rt_sigqueueinfo", FACTS["victim"], 0, info) == 0


@probe("signals")
def signal_by_a_descriptor():
    return call("pidfd_send_signal", call("pidfd_open", FACTS["victim"], 0), 0, 0, 0) == 0


@probe("signals")
def let_the_kernel_signal_another():
    """Whether it arrives is seen at the other."""
    a, b = os.pipe()
    fcntl.fcntl(a, fcntl.F_SETOWN, FACTS["victim"])
    fcntl.fcntl(a, 10, signal.SIGWINCH)  # F_SETSIG
    fcntl.fcntl(a, fcntl.F_SETFL, fcntl.fcntl(a, fcntl.F_GETFL) | os.O_ASYNC)
    os.write(b, b"x")
    return False


@probe("signals")
def limit_another():
    import resource
    return resource.prlimit(FACTS["victim"], resource.RLIMIT_CORE)


@probe("signals")
def slow_another_down():
    os.setpriority(os.PRIO_PROCESS, FACTS["victim"], os.getpriority(os.PRIO_PROCESS, FACTS["victim"]) + 1)
    return True


@probe("signals")
def slow_all_of_the_user_down():
    os.setpriority(os.PRIO_USER, os.getuid(), os.getpriority(os.PRIO_USER, os.getuid()))
    return True


@probe("signals")
def move_another_to_a_processor():
    os.sched_setaffinity(FACTS["victim"], os.sched_getaffinity(0))
    return True


@probe("signals")
def put_another_at_the_end_of_the_disk():
    return call("ioprio_set", 1, FACTS["victim"], 3 << 13) == 0


# ---- terminals ----

def push(fd):
    fcntl.ioctl(fd, 0x5412, b"x")  # TIOCSTI
    return True


@probe("terminal")
def type_into_the_terminal():
    for fd in range(3):
        try:
            return push(fd)
        except OSError as error:
            if error.errno not in (1, 25):
                raise
    return False


@probe("terminal")
def type_into_a_terminal_of_its_own():
    a, b = os.openpty()
    return push(b)


@probe("terminal")
def paste_into_the_console():
    return fcntl.ioctl(0, 0x541c, b"\x03") == 0  # TIOCLINUX


# ---- what was inherited ----

@probe("descriptors")
def find_a_descriptor_beyond_2():
    return INHERITED


@probe("descriptors")
def find_a_file_behind_0_to_2():
    import stat
    kinds = [os.fstat(fd).st_mode for fd in range(3)]
    return [k for k in kinds if not (stat.S_ISFIFO(k) or stat.S_ISCHR(k) and os.isatty(0) is False)]


@probe("descriptors")
def find_a_terminal_behind_0_to_2():
    return [fd for fd in range(3) if os.isatty(fd)]


# ---- what processes share ----

@probe("ipc")
def read_a_shared_segment():
    here = call("shmget", FACTS["shm_key"], 0, 0)
    libc.shmat.restype = ctypes.c_void_p
    return ctypes.string_at(libc.shmat(here, None, 0o10000), 6)


@probe("ipc")
def make_a_queue():
    return call("msgget", 0x616c, 0o1600) + 1


@probe("ipc")
def make_semaphores():
    return call("semget", 0, 1, 0o1600) + 1


@probe("ipc")
def open_a_posix_queue():
    fd = call("mq_open", b"alisio-probe", os.O_CREAT | os.O_RDWR, 0o600, 0)
    os.unlink("/dev/mqueue/alisio-probe") if os.path.exists("/dev/mqueue/alisio-probe") else None
    return fd


# ---- rights ----

@probe("rights")
def have_a_capability():
    head, body = struct.pack("Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
    call("capget", head, body)
    return [n for n in struct.unpack("6I", body.raw)[:2] if n]


@probe("rights")
def become_another_user():
    return in_child(lambda: os.setresuid(65534, 65534, 65534)) == 0 if os.getuid() == 0 else os.setuid(0) is None


@probe("rights")
def gain_by_a_program():
    wanted = "/usr/bin/su"
    return os.stat(wanted).st_mode & 0o4000 and libc.prctl(39, 0, 0, 0, 0) == 0  # PR_GET_NO_NEW_PRIVS


# ---- the kernel ----

@probe("kernel")
def load_a_program_into_the_kernel():
    attr = struct.pack("IIII", 2, 4, 4, 1).ljust(120, b"\0")
    return call("bpf", 0, attr, len(attr))


@probe("kernel")
def measure_the_kernel():
    attr = struct.pack("IIQ", 1, 112, 0).ljust(112, b"\0")
    return call("perf_event_open", attr, 0, -1, -1, 0)


@probe("kernel")
def handle_page_faults():
    return call("userfaultfd", 1)


@probe("kernel")
def watch_all_files():
    return call("fanotify_init", 0x200, 0)


@probe("kernel")
def keep_files_in_memory():
    """No limit would cover them."""
    return call("memfd_create", b"probe", 0)


@probe("kernel")
def name_the_machine():
    name = platform.node().encode()
    return call("sethostname", name, len(name)) == 0


@probe("kernel")
def lay_memory_out_by_plan():
    return call("personality", 0x40000) >= 0


@probe("kernel")
def write_an_account_of_processes():
    return call("acct", b"/no/such/file") is None


@probe("kernel")
def make_segments_of_its_own():
    return call("modify_ldt", 0, ctypes.create_string_buffer(16), 16) >= 0


@probe("kernel")
def talk_to_ports():
    return call("iopl", 3) == 0


def machine_code(code):
    def body():
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        run = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
        return 0 if run() > 0 else 1
    return X86 and in_child(body) == 0


@probe("kernel")
def call_by_the_32_bit_gate():
    return machine_code(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # getpid


@probe("kernel")
def call_by_the_numbers_of_x32():
    return machine_code(b"\xb8\x27\x00\x00\x40\x0f\x05\xc3")


def run_probes():
    results = []
    for kind, name, function in PROBES:
        try:
            found = function()
            results.append([kind, name, repr(found)[:80] if found else None, ""])
        except (OSError, subprocess.SubprocessError, KeyError, EOFError) as error:
            results.append([kind, name, None, f"{type(error).__name__} {error}"[:80]])
    return results


if __name__ == "__main__":
    json.dump(run_probes(), sys.stdout)
