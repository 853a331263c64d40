// SPDX-License-Identifier: Apache-2.0

// Command bench times evenkeel check beside conftest and gator test: the same
// manifests, the same four rules written for each, whole commands, one after the
// other on the same machine.
//
// Before any time is taken the three must find the same violations in the same
// objects. The folders conftest and gator only pin the programs. Start at main.
package main
