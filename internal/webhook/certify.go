// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// The subject of the own authority. The one of config/certmanager bears it too, so
// that each is still trusted for a while when an install changes to the other.
const (
	certificateAuthority  = "evenkeel-ca"
	authorityOrganization = "evenkeel.dev"
)

// certify adds what makes the certificate, unless cert-manager does, and brings it
// to the directory.
func (s *setup) certify(ctx context.Context) error {
	if s.Certificates == SelfSigned {
		if err := s.rotate(ctx); err != nil {
			return err
		}
	}
	metrics, err := NewCertificateMetrics(s.Registerer)
	if err != nil {
		return fmt.Errorf("registering the metrics: %w", err)
	}
	s.certs = &Certificates{
		reader:     s.cache,
		secret:     s.secretKey(),
		dir:        s.CertDir,
		serverName: s.endpoint().serverName(),
		missing:    s.missing,
		metrics:    metrics,
		clock:      s.Clock,
		ready:      make(chan struct{}),
	}
	return ctrl.NewControllerManagedBy(s.mgr).
		Named("webhook-certificate").
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
		WatchesRawSource(s.watch(&corev1.Secret{})).
		WatchesRawSource(s.watch(&admissionregistrationv1.ValidatingWebhookConfiguration{})).
		WatchesRawSource(s.watch(&admissionregistrationv1.MutatingWebhookConfiguration{})).
		WatchesRawSource(once()).
		Complete(s.certs)
}

// rotate adds the own authority.
func (s *setup) rotate(ctx context.Context) error {
	if err := ensureSecret(ctx, s.mgr.GetClient(), s.secretKey()); err != nil {
		return err
	}
	err := rotator.AddRotator(s.mgr, &rotator.CertRotator{
		SecretKey:      s.secretKey(),
		CertDir:        s.CertDir,
		CAName:         certificateAuthority,
		CAOrganization: authorityOrganization,
		DNSName:        s.endpoint().serverName(),
		IsReady:        make(chan struct{}),
		// Else its first pass and its watch would fill an empty Secret both at once,
		// and one of them log a conflict.
		EnableReadinessCheck: true,
		// No Webhooks: the rotator would write the CA into the configuration by
		// itself and fight with the writer, which owns the whole of it.
		// No restart: the server takes up new certificates as it runs.
	})
	if err != nil {
		return fmt.Errorf("adding the certificate rotator: %w", err)
	}
	return nil
}

// missing makes the Secret anew when it is gone: the rotator only fills one that
// exists. cert-manager makes its own, so then there is only something to tell.
func (s *setup) missing(ctx context.Context) error {
	if s.Certificates == SelfSigned {
		return ensureSecret(ctx, s.mgr.GetClient(), s.secretKey())
	}
	s.mgr.GetLogger().WithName("webhook").Info("The Secret of the webhook's certificate isn't there: cert-manager "+
		"makes it for the Certificate evenkeel-webhook; if it stays away, look at that",
		"secret", s.secretKey())
	return nil
}
