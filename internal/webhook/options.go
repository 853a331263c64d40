// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/webhook/certificates"
	"evenkeel.dev/evenkeel/internal/webhook/configuration"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// DefaultMemory is what reviews may take by default, a quarter of the limit of
// config/manager; MinMemory is what one large object needs.
const (
	DefaultMemory = 256 << 20
	MinMemory     = 64 << 20
)

// Options say how admission runs in a manager.
type Options struct {
	// Catalog holds the policies in force. Required.
	Catalog *catalog.Catalog
	// Namespace is the controller's own: its certificate lives there, and its
	// objects are never judged. It must exist. Required.
	Namespace string
	// Certificates says who makes the certificate. Default: certificates.SelfSigned.
	Certificates certificates.Issuer
	// SecretName is the Secret of the certificate. Default: evenkeel-webhook-cert,
	// or evenkeel-webhook-tls by cert-manager. The two differ because a replica of
	// each sort would undo the other's.
	SecretName string
	// CertDir is a directory of this replica's own for the serving certificate.
	// Required.
	CertDir string
	// ClientCAFile holds, in PEM, the authorities that vouch for the API server's
	// client certificate; empty: whoever asks is answered.
	ClientCAFile string
	// URLBase is set when the manager runs outside the cluster, for example
	// https://localhost:9443. The host must be a name.
	URLBase string
	// ServiceName is the Service in Namespace that leads here, when URLBase is
	// empty. Default: evenkeel-webhook.
	ServiceName string
	// OwnerRole is the ClusterRole with which the webhook configurations are
	// garbage-collected; empty: they stay until somebody deletes them.
	OwnerRole string
	// Host and Port are where the server listens. Default: all addresses, 9443.
	Host string
	Port int
	// Timeout is how long the API server waits for a verdict, in whole seconds
	// from 1 to 30. Default: 5s.
	Timeout time.Duration
	// Memory bounds, in bytes, what all reviews together may take while they are
	// read and judged. Default: DefaultMemory.
	Memory int64
	// ExemptNamespaces are never judged, besides Namespace. Nil means kube-system
	// and kube-node-lease: what keeps the cluster alive must not depend on a
	// webhook that itself needs the cluster. Empty, not nil, means no other.
	ExemptNamespaces []string
	// Docs is where the runbooks of the library's policies are published.
	Docs policy.Docs
	// Reach is what fixes may write; policies that ask for more are warned of.
	Reach limits.Reach
	// Floors is how careful every strategy must be at the least.
	Floors limits.Floors
	// Registerer takes the metrics. Required.
	Registerer prometheus.Registerer
	// Clock tells the time. Required.
	Clock clock.Clock
}

func (o Options) withDefaults() Options {
	if o.Certificates == "" {
		o.Certificates = certificates.SelfSigned
	}
	if o.SecretName == "" {
		o.SecretName = "evenkeel-webhook-cert"
		if o.Certificates == certificates.CertManager {
			o.SecretName = "evenkeel-webhook-tls"
		}
	}
	if o.ServiceName == "" {
		o.ServiceName = "evenkeel-webhook"
	}
	if o.Port == 0 {
		o.Port = 9443
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Timeout == 0 {
		o.Timeout = serving.DefaultTimeout
	}
	if o.ExemptNamespaces == nil {
		o.ExemptNamespaces = []string{"kube-system", "kube-node-lease"}
	}
	return o
}

// Validate says what is wrong with the options, all at once.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	if o.Catalog == nil || o.Registerer == nil || o.Clock == nil {
		errs = append(errs, errors.New("webhook: a catalog, a metrics registerer and a clock are required"))
	}
	if o.Certificates != certificates.SelfSigned && o.Certificates != certificates.CertManager {
		errs = append(errs, fmt.Errorf("the source of the webhook's certificate is %q: must be %s or %s",
			o.Certificates, certificates.SelfSigned, certificates.CertManager))
	}
	for _, required := range []struct{ what, value string }{
		{"certificate directory", o.CertDir}, {"controller's namespace", o.Namespace}} {
		if required.value == "" {
			errs = append(errs, fmt.Errorf("webhook: set the %s", required.what))
		}
	}
	if o.Memory < MinMemory {
		errs = append(errs, fmt.Errorf("the memory for admission reviews is %d bytes: must be at least %d MiB",
			o.Memory, MinMemory>>20))
	}
	return errors.Join(append(errs, o.validateTimeout(), o.endpoint().Validate())...)
}

func (o Options) validateTimeout() error {
	if o.Timeout < time.Second || o.Timeout > 30*time.Second || o.Timeout%time.Second != 0 {
		return fmt.Errorf("webhook timeout %s: must be whole seconds from 1s to 30s", o.Timeout)
	}
	return nil
}

func (o Options) endpoint() configuration.Endpoint {
	return configuration.Endpoint{URLBase: o.URLBase, Service: o.ServiceName, Namespace: o.Namespace}
}

func (o Options) secretKey() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.SecretName}
}

func (o Options) exempt() []string {
	return append(slices.Clone(o.ExemptNamespaces), o.Namespace)
}
