"""
Takes away from calm what Windows, or macOS, does not have: imported by the `sitecustomize` of a folder beside this one.

Only calm's own modules see a poorer `os`, `signal`, `socket` and so on. Other packages have ways of their own for those
systems, and see this one. What a real system does to files (names that it refuses, files that are open) is done to
whatever calm does to files, wherever it does it.
"""

import asyncio
import builtins
import errno
import io
import os
import selectors
import subprocess
import sys
import time
from multiprocessing import connection
from pathlib import Path
from types import ModuleType

TICK_S = 1 / 64
"""How finely a clock of Windows may count."""
REFUSED = frozenset('<>:"|?*') | {chr(number) for number in range(32)}
RESERVED = frozenset(("CON", "PRN", "AUX", "NUL", *(f"{name}{n}" for name in ("COM", "LPT") for n in range(1, 10))))
"""Names of devices, which no file may have."""
BUSY = "The process cannot access the file because it is being used by another process"
ABSENT = {
    "windows": {
        "os": (
            "fork forkpty register_at_fork fchmod fchown chown lchown getuid geteuid getgid getegid getgroups getpgid "
            "getpgrp getsid killpg setsid setpgid setuid uname sched_getaffinity sched_setaffinity sched_yield nice "
            "O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK O_SYNC O_NOCTTY mkfifo mknod getloadavg posix_fallocate "
            "posix_fadvise posix_spawn pread pwrite sysconf statvfs fstatvfs sendfile memfd_create pidfd_open wait "
            "wait3 wait4 waitid fdatasync sync pipe2 ttyname openpty confstr WNOHANG"
        ),
        "signal": (
            "SIGKILL SIGHUP SIGXCPU SIGQUIT SIGUSR1 SIGUSR2 SIGALRM SIGPIPE SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGBUS "
            "SIGWINCH alarm setitimer getitimer pthread_kill pthread_sigmask sigwait siginterrupt pause"
        ),
        "select": "poll epoll kqueue",
        "socket": "AF_UNIX SO_REUSEPORT MSG_DONTWAIT MSG_NOSIGNAL recv_fds send_fds",
    },
    "macos": {
        "os": "sched_getaffinity sched_setaffinity memfd_create pidfd_open pipe2 posix_fadvise O_DIRECT",
        "select": "epoll",
        "socket": "MSG_NOSIGNAL",
    },
}
NO_MODULES = {
    "windows": (
        "crypt",
        "curses",
        "fcntl",
        "grp",
        "posix",
        "pty",
        "pwd",
        "readline",
        "resource",
        "syslog",
        "termios",
        "tty",
    ),
    "macos": (),
}


class Poorer(ModuleType):
    """A module as calm sees it: some names are gone, some are others, and all else is the real one's."""

    def __init__(self, real, gone=(), **others):
        super().__init__(real.__name__)
        self.__dict__.update(_real=real, _gone=frozenset(gone), **others)

    def __getattr__(self, name):
        if name in self._gone:
            raise AttributeError(f"this system has no {self.__name__}.{name}")
        return getattr(self._real, name)

    def __setattr__(self, name, value):
        setattr(self._real, name, value)


def is_ours(names):
    """Return whether the names of a frame or a module are those of a module of calm."""
    spec = names.get("__spec__")
    name = getattr(spec, "name", None) or names.get("__name__") or ""
    return name == "calm" or name.startswith("calm.")


def caller():
    """Return the variables of whoever did something through the standard library."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        *("pathlib", "os", "posixpath", "shutil", "tempfile", "contextlib", "io", "sqlite3"),
        __name__,
    ):
        frame = frame.f_back
    return frame.f_globals


def take_away(system):
    """Make this process one of "windows" or "macos", as far as calm can see."""
    instead = {
        name: Poorer(sys.modules.get(name) or __import__(name), gone.split()) for name, gone in ABSENT[system].items()
    }
    instead["sys"] = Poorer(sys, platform={"windows": "win32", "macos": "darwin"}[system])
    if system == "windows":
        instead |= _windows(instead["os"])
        sys.addaudithook(_refuse_as_windows)
    else:
        instead["resource"] = Poorer(__import__("resource"), setrlimit=_unlimited)
    missing = frozenset(NO_MODULES[system])
    imported = builtins.__import__

    def bring(name, names=None, *rest, **more):
        if names is not None and is_ours(names):
            if name.partition(".")[0] in missing:
                raise ModuleNotFoundError(f"this system has no module named {name!r}", name=name)
            if name in instead:
                return instead[name]
        return imported(name, names, *rest, **more)

    builtins.__import__ = bring
    _open_as(system)


def _windows(poor_os):
    poor_os.__dict__.update(name="nt", linesep="\r\n", kill=_kill, link=_no_link, symlink=_no_link)
    poor_os.__dict__.update(open=_open_no_folder, supports_effective_ids=set(), supports_dir_fd=set())
    connection.families = [family for family in connection.families if family != "AF_UNIX"]
    connection.default_family = "AF_INET"
    for name in ("add_reader", "add_writer", "add_signal_handler"):  # the loop of Windows has none of them
        setattr(asyncio.SelectorEventLoop, name, _not_there)
    return {
        "_winapi": _processes(),
        "selectors": Poorer(selectors, DefaultSelector=selectors.SelectSelector),
        "subprocess": Poorer(subprocess, Popen=Popen, CREATE_NEW_PROCESS_GROUP=0x200),
        "time": Poorer(
            time, monotonic=lambda: time.monotonic() // TICK_S * TICK_S, time=lambda: time.time() // TICK_S * TICK_S
        ),
    }


def _unlimited(which, limits):
    if which == __import__("resource").RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    __import__("resource").setrlimit(which, limits)


class Popen(subprocess.Popen):
    """A process as Windows starts one."""

    def __init__(self, *words, creationflags=0, start_new_session=False, **more):
        if more.get("preexec_fn") or more.get("pass_fds"):
            raise ValueError("preexec_fn and pass_fds are not supported on Windows platforms")
        super().__init__(*words, start_new_session=bool(creationflags & 0x200), **more)

    def send_signal(self, number):
        """Send SIGTERM, which ends the process, and nothing else."""
        if number != 15:
            raise ValueError(f"Unsupported signal: {number}")
        self.kill()


def _kill(pid, number):
    """End a process at once, whatever the number: what `os.kill` does on Windows."""
    os.write(2, f"os.kill({pid}, {number}): on Windows this ends the process\n".encode())
    os.kill(pid, 9)


def _no_link(*_words, **_more):
    raise OSError(errno.EPERM, "a required privilege is not held by the client")


def _open_no_folder(path, *words, **more):
    if Path(path).is_dir():
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
    return os.open(path, *words, **more)


def _not_there(*_words):
    raise NotImplementedError


def _processes():
    """Return what Python's own module for Windows says of processes."""
    module = ModuleType("_winapi")

    def open_process(_rights, _inherited, pid):
        if not Path(f"/proc/{pid}").exists():
            raise OSError(errno.EINVAL, "The parameter is incorrect")
        return pid

    def wait(pid, _ms):
        try:
            file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)  # not through `open`, which shows calm no /proc
            state = os.read(file, 4096).rpartition(b")")[2].split()[0].decode()
            os.close(file)
        except OSError:
            state = "X"
        return 0 if state in "ZX" else module.WAIT_TIMEOUT

    module.__dict__.update(OpenProcess=open_process, WaitForSingleObject=wait, CloseHandle=lambda _: None)
    module.__dict__.update(SYNCHRONIZE=0x100000, WAIT_TIMEOUT=258)
    return module


def _open_as(system):
    """Have texts that calm opens want a named encoding, and end their lines as the system does."""
    real = io.open

    def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *words, **more):
        if is_ours(caller()):
            if str(file).startswith("/proc/"):
                raise FileNotFoundError(errno.ENOENT, "this system has no /proc", str(file))
            if "b" not in mode:
                if encoding in (None, "locale"):
                    raise RuntimeError(f"{file}: opened without an encoding: on Windows it would be cp1252")
                if system == "windows" and newline is None and mode[0] in "wax":
                    newline = "\r\n"
        return real(file, mode, buffering, encoding, errors, newline, *words, **more)

    io.open = builtins.open = opened


def _refuse_as_windows(event, words):
    if event == "open":
        path, _, flags = words
        if isinstance(path, str) and (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and is_ours(caller()):
            _refuse_name(path)
    elif event in ("os.mkdir", "sqlite3.connect"):
        if isinstance(words[0], (str, os.PathLike)) and is_ours(caller()):
            _refuse_name(os.fspath(words[0]))
    elif event in ("os.rename", "os.remove") and is_ours(caller()):
        for path in words[: 1 + (event == "os.rename")]:
            _refuse_open(os.fspath(path))
        if event == "os.rename":
            _refuse_name(os.fspath(words[1]))


def _refuse_name(path):
    if path.startswith("file:") or path in ("", ":memory:"):
        return
    for part in Path(path).parts:
        if (
            not REFUSED.isdisjoint(part)
            or (part != "/" and part.rstrip(" .") != part and part not in (".", ".."))
            or part.partition(".")[0].upper() in RESERVED
        ):
            raise OSError(errno.EINVAL, "The filename, directory name, or volume label syntax is incorrect", path)


def _refuse_open(path):
    """Refuse to take the place of a file, or its name, while a process of the run has it open."""
    try:
        there = Path(path).stat()
    except OSError:
        return
    session = os.getsid(0)
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if os.getsid(int(process.name)) != session:
                continue
            for one in (process / "fd").iterdir():
                if os.path.samestat(one.stat(), there):
                    raise PermissionError(errno.EACCES, BUSY, path)
        except PermissionError as error:
            if error.strerror == BUSY:
                raise
        except OSError:
            continue
