//! The descendants of a process, from /proc.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// A process and its descendants, parents first; also orphans whose command line contains the profile's path.
pub fn process_and_descendants(root: u32, profile: &Path) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        if let Some((_, parent)) = state_and_parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut family = vec![i32::try_from(root).unwrap_or(0)];
    family.retain(|&pid| pid > 1);
    let profile = profile.display().to_string();
    let speaks = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(&profile)
    };
    family.extend(children.get(&1).into_iter().flatten().filter(|pid| speaks(pid)));
    let mut next = 0;
    while let Some(&pid) = family.get(next) {
        family.extend(children.remove(&pid).unwrap_or_default());
        next += 1;
    }
    family
}

pub fn is_alive(pid: i32) -> bool {
    state_and_parent(pid).is_some_and(|(state, _)| state != "Z")
}

fn state_and_parent(pid: i32) -> Option<(String, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name in brackets may itself contain brackets.
    let mut fields = stat.get(stat.rfind(')')? + 2..)?.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}
