//! What config.toml grants to tasks: the tables that can change while the daemon runs.

use std::collections::BTreeSet;

use crate::model::{AddressGrants, TaskName};
use crate::tasks::{self, Problem, TaskFolder};

use super::ceiling::Ceiling;
use super::private_grants::PrivateGrants;
use super::secret_grants::SecretGrants;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grants {
    /// Which task may use which secret, and where it may be sent.
    pub secret: SecretGrants,
    pub private: PrivateGrants,
    pub ceiling: Ceiling,
    /// The ports on which the daemon itself listens.
    pub daemon_ports: BTreeSet<u16>,
}

impl Grants {
    pub fn addresses_of(&self, task: &TaskName) -> AddressGrants {
        AddressGrants {
            task: task.to_string(),
            granted: self.private.granted_to(task),
            daemon_ports: self.daemon_ports.clone(),
        }
    }

    /// Checks that a task needs nothing that it is not granted, and no more than the ceiling.
    pub fn check(&self, folder: &TaskFolder) -> Result<(), Problem> {
        let checks = [self.ceiling.check(folder), tasks::check_addresses(folder, &self.addresses_of(&folder.name))];
        Problem::from_all(checks.into_iter().filter_map(Result::err).collect())
    }
}
