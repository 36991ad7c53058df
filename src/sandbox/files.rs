//! Landlock rules: a run can read the certificates of the authorities and no other file, and can write none.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags, path_beneath_rules,
};

use super::SandboxError;

/// Where Linux distributions keep the certificates of the authorities: the files and folders that `openssl-probe` looks
/// for, and the folders that their links lead to. Not `/etc/ssl` and `/etc/pki/tls` as a whole: they have private keys,
/// which a daemon that runs as root could read.
const AUTHORITIES: &[&str] = &[
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/trust/anchors",
    "/etc/ca-certificates/extracted",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/usr/share/pki/ca-trust-source",
    "/usr/share/pki/trust/anchors",
    "/var/lib/ca-certificates",
    "/opt/etc/ssl/certs",
];

/// The newest version of Landlock whose rights are used.
pub(super) const NEWEST: ABI = ABI::V6;

/// The file rights of Landlock ABI 1 are required. What newer kernels add (connections, signals, abstract sockets) is
/// used where it exists; the seccomp filter covers it in any case. `readable` files, and files in `readable` folders,
/// can still be opened for reading.
pub fn restrict(readable: &[PathBuf]) -> Result<(), SandboxError> {
    let rules = deny_all()
        .and_then(|rules| rules.add_rules(path_beneath_rules(AUTHORITIES, AccessFs::from_read(NEWEST))))
        .map(|rules| allow_reading(rules, readable));
    enforce(rules)
}

/// A rule set that allows nothing yet.
pub(super) fn deny_all() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .map(|rules| rules.set_compatibility(CompatLevel::BestEffort))
        .and_then(|rules| rules.handle_access(AccessFs::from_all(NEWEST)))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
}

/// Restricts this process; fails where the kernel does not enforce the rules.
pub(super) fn enforce(rules: Result<RulesetCreated, RulesetError>) -> Result<(), SandboxError> {
    match rules.and_then(|rules| rules.restrict_self()) {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => {
            Err(SandboxError::Files("the kernel does not enforce it".to_owned()))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(SandboxError::Files(error.to_string())),
    }
}

/// A path without a rule cannot be opened. That is right for a missing file, and a pipe (`<(…)` of a shell) needs no
/// rule: Landlock refuses one and lets a process open its own pipes.
fn allow_reading(mut rules: RulesetCreated, readable: &[PathBuf]) -> RulesetCreated {
    for path in readable {
        let access = match path.is_dir() {
            true => make_bitflags!(AccessFs::{ReadFile | ReadDir}),
            false => make_bitflags!(AccessFs::{ReadFile}),
        };
        if let Ok(file) = PathFd::new(path) {
            let _ = (&mut rules).add_rule(PathBeneath::new(file, access));
        }
    }
    rules
}
