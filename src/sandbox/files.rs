//! Landlock rules: a run can read the certificates of the authorities and no other file, and can write none.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope, path_beneath_rules,
};

use super::SandboxError;

/// Folders where Linux distributions keep the certificates of the authorities.
const AUTHORITIES: &[&str] = &[
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/usr/share/pki",
    "/usr/lib/ssl",
    "/var/lib/ca-certificates",
];

/// The file rights of Landlock ABI 1 are required. What newer kernels add (connections, signals, abstract sockets) is
/// used where it exists; the seccomp filter covers it in any case.
pub fn restrict() -> Result<(), SandboxError> {
    let newest = ABI::V6;
    let closed = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .map(|rules| rules.set_compatibility(CompatLevel::BestEffort))
        .and_then(|rules| rules.handle_access(AccessFs::from_all(newest)))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(newest)))
        .and_then(|rules| rules.scope(Scope::from_all(newest)))
        .and_then(Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(AUTHORITIES, AccessFs::from_read(newest))))
        .and_then(|rules| rules.restrict_self());
    match closed {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => {
            Err(SandboxError::Files("the kernel does not enforce it".to_owned()))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(SandboxError::Files(error.to_string())),
    }
}
