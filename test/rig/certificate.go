// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"crypto/x509"
	"encoding/pem"
)

// PEM is a certificate as a webhook configuration takes it for its CA.
func PEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
