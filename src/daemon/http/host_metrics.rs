//! Metrics of the host for Prometheus: the daemon's resident memory, and the free space of the state folder's file
//! system.

use std::fs;
use std::path::Path;

use super::metrics::MetricsText;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct HostMetrics {
    /// Of the daemon alone; each run is a process of its own.
    resident_bytes: Option<u64>,
    file_system: Option<FileSystem>,
}

#[derive(Debug, PartialEq, Eq)]
struct FileSystem {
    size_bytes: u64,
    /// For processes without root privileges.
    available_bytes: u64,
}

impl HostMetrics {
    /// A value that cannot be read is left out.
    pub fn measure(state: &Path) -> HostMetrics {
        let resident_bytes = fs::read_to_string("/proc/self/status").ok().and_then(|text| resident_bytes(&text));
        let file_system = nix::sys::statvfs::statvfs(state).ok().map(|stat| FileSystem {
            size_bytes: stat.blocks().saturating_mul(stat.fragment_size()),
            available_bytes: stat.blocks_available().saturating_mul(stat.fragment_size()),
        });
        HostMetrics { resident_bytes, file_system }
    }

    pub fn print(&self, out: &mut MetricsText) {
        let one = |value: u64| [(String::new(), value as f64)];
        if let Some(bytes) = self.resident_bytes {
            out.gauge("pieme_resident_memory_bytes", "Memory of the daemon itself, without its runs.", one(bytes));
        }
        if let Some(file_system) = &self.file_system {
            let size = "Size of the file system that the state folder is on.";
            out.gauge("pieme_state_filesystem_size_bytes", size, one(file_system.size_bytes));
            let available = "Free space of the file system that the state folder is on.";
            out.gauge("pieme_state_filesystem_avail_bytes", available, one(file_system.available_bytes));
        }
    }
}

/// From the text of /proc/self/status, which counts in kilobytes.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        assert_eq!(resident_bytes("Name:\tpieme\nVmRSS:\t   31416 kB\nThreads:\t9\n"), Some(31_416 << 10));
        assert_eq!(resident_bytes("Name:\tpieme\n"), None);
    }

    #[test]
    fn a_state_folder_that_is_not_there_leaves_its_figures_out() {
        let metrics = HostMetrics::measure(Path::new("/no/such/folder"));
        assert_eq!(metrics.file_system, None);
        let mut page = MetricsText::default();
        metrics.print(&mut page);
        assert!(page.0.contains("pieme_resident_memory_bytes ") && !page.0.contains("filesystem"), "{}", page.0);
    }
}
