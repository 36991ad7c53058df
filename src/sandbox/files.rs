//! Which files a run can open: the certificates of authorities, and nothing else. It cannot write at all.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope, path_beneath_rules,
};

/// Where distributions keep the certificates of authorities.
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

/// The rights over files are a must; what newer kernels add (connections, signals, abstract sockets) is taken where it is there,
/// and the filter of system calls covers it everywhere.
pub fn restrict() -> Result<(), String> {
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
            Err("Landlock: the kernel does not enforce it".to_owned())
        }
        Ok(_) => Ok(()),
        Err(error) => Err(format!("Landlock: {error}")),
    }
}
