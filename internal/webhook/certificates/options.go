// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Issuer says who makes the webhook's certificate and renews it.
type Issuer string

const (
	// SelfSigned is an authority of the manager's own.
	SelfSigned Issuer = "self-signed"
	// CertManager is cert-manager, by a Certificate that is installed with the
	// manager.
	CertManager Issuer = "cert-manager"
)

// Options say where the certificate comes from and where it goes. All are required.
type Options struct {
	// Issuer makes the certificate.
	Issuer Issuer
	// Secret holds it.
	Secret types.NamespacedName
	// Dir is a directory of this replica's own for it.
	Dir string
	// ServerName is the name that the API server expects in it.
	ServerName string
	// Reader reads the Secret, Writer makes it.
	Reader client.Reader
	Writer client.Writer
	// Trusted are the bundles by which the API server trusts the webhook now.
	Trusted func(context.Context) ([][]byte, error)
	// Sources ask for a look: whenever the Secret or what is trusted changes, and at first.
	Sources []source.Source
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
	// Clock tells the time.
	Clock clock.PassiveClock
	// Log is told when cert-manager hasn't made the Secret.
	Log logr.Logger
}
