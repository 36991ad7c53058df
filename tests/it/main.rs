//! One binary for all tests that need more than one part of pieme.

mod robot;
