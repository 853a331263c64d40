// SPDX-License-Identifier: Apache-2.0

// Package certificates brings the webhook's serving certificate from its Secret to the
// server: who makes and renews it, when a new one is taken up, what the API server is to
// trust meanwhile, and how the server speaks TLS.
//
// It must never take up a certificate that the API server would refuse, nor write the key of
// an authority to a disk. It knows no webhook configuration: what those trust it is told.
// Start reading at Certificates.
package certificates
