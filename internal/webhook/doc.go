// SPDX-License-Identifier: Apache-2.0

// Package webhook joins admission to a manager: the server with its endpoints, the webhook
// configurations that are kept in step with the policies, and the certificates.
//
// What is joined stands in the rooms below: review judges users' objects, validation checks
// Evenkeel's own kinds, stamp fills in who did something, certificates and configuration keep
// the API server asking here. It must never leave a
// configuration in force that nobody answers for. Start reading at Admission.
package webhook
