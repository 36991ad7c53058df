//! Capabilities: a child has none, also where the daemon runs as root.

use nix::errno::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities,
};

use super::SandboxError;

/// The highest number that a capability can have.
const CAPABILITY_BITS: u32 = u64::BITS;

/// Gives up every capability of this thread and of every program that it starts, irrevocably: `no_new_privs` is set.
pub fn drop_all() -> Result<(), SandboxError> {
    let failed = |error: rustix::io::Errno| SandboxError::Capabilities(Errno::from_raw(error.raw_os_error()));
    let none = CapabilitySet::empty();
    let nothing = CapabilitySets { effective: none, permitted: none, inheritable: none };
    if capabilities(None).map_err(failed)? == nothing {
        return Ok(());
    }
    for bit in 0..CAPABILITY_BITS {
        // An error means that there is no such capability, or that this process may not change the set; without
        // permitted capabilities the set gives nothing.
        let _ = remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit));
    }
    clear_ambient_capability_set().map_err(failed)?;
    set_capabilities(None, nothing).map_err(failed)
}
