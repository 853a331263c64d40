// SPDX-License-Identifier: Apache-2.0

// Package policies holds Evenkeel's library of policies: one directory a policy,
// grouped by concern, with what they share in lib. The library goes into the
// binary, so that it can be listed and installed without the repository.
//
// The package holds files, no logic, and imports nothing of this module. Start
// with a policy's Rego file, for example
// security/privileged_containers/privileged_containers.rego.
package policies

import "embed"

// FS holds the library: Rego modules, their tests and their examples.
//
//go:embed governance lib reliability security supplychain
var FS embed.FS
