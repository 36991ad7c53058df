//! Descriptors that a process was started with. What pieme opens itself is closed on exec; what its own starter left
//! open (a shell, a supervisor, a test) is not, and would reach every child.

use std::fs;

use nix::unistd::close;

/// The first descriptor that is not stdin, stdout or stderr.
const FIRST: i32 = 3;

/// Closes everything except stdin, stdout and stderr. Called first in `main`, before anything was opened.
pub fn close_inherited() {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    // Collected first: the listing has a descriptor of its own, which is closed by then.
    let inherited: Vec<i32> = numbers.filter(|&number| number >= FIRST).collect();
    for number in inherited {
        let _ = close(number);
    }
}
