//! The memory, descriptors and threads of a process, from /proc.

use std::fs;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vitals {
    pub kilobytes: u64,
    pub threads: u64,
    pub files: usize,
}

impl Vitals {
    pub fn of(pid: u32) -> Vitals {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
        let number = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).expect("the kernel says so");
            line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
        };
        let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs").count();
        Vitals { kilobytes: number("VmRSS:"), threads: number("Threads:"), files }
    }
}
