//! Recognises errors of resource exhaustion, such as no free file descriptor: no file, site or task is to blame.

use std::io;

use nix::errno::Errno;

/// What ran out, and which limit to raise; `None` for every other error.
pub fn shortage(error: &io::Error) -> Option<&'static str> {
    match Errno::from_raw(error.raw_os_error()?) {
        Errno::EMFILE => Some("pieme has no file descriptors left; raise LimitNOFILE= of its unit, or `ulimit -n`"),
        Errno::ENFILE => Some("the machine has no file descriptors left; raise fs.file-max (sysctl)"),
        Errno::ENOMEM => Some("there is no memory left; raise MemoryMax= of pieme's unit, or lower max_running"),
        Errno::EAGAIN => Some("no process or thread can be started; raise TasksMax= of pieme's unit, or `ulimit -u`"),
        _ => None,
    }
}

/// The error as text, with the limit to raise where one was reached.
pub fn in_words(error: &io::Error) -> String {
    match shortage(error) {
        Some(limit) => format!("{error}: {limit}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_process_itself_lacks_is_a_shortage() {
        for errno in [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::EAGAIN] {
            assert!(shortage(&errno.into()).is_some(), "{errno}");
        }
        for errno in [Errno::ENOENT, Errno::EACCES, Errno::ENOSPC, Errno::ECONNREFUSED] {
            assert!(shortage(&errno.into()).is_none(), "{errno}");
        }
        assert!(in_words(&Errno::EMFILE.into()).contains("LimitNOFILE"));
    }
}
