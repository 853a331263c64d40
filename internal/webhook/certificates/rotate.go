// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"evenkeel.dev/evenkeel/internal/webhook/names"
)

// The subject of the own authority. The one of config/certmanager bears it too, so
// that each is still trusted for a while when an install changes to the other.
const (
	certificateAuthority  = "evenkeel-ca"
	authorityOrganization = "evenkeel.dev"
)

// Prepare makes the Secret of an authority of the manager's own, empty, when there is
// none. It says what is missing when it can't be made.
func (c *Certificates) Prepare(ctx context.Context) error {
	if c.o.Issuer != SelfSigned {
		return nil
	}
	return ensureSecret(ctx, c.o.Writer, c.o.Secret)
}

// Register joins the manager: the controller that brings the certificate to the directory,
// on every replica, and, unless cert-manager is the issuer, what makes and renews it. The
// Secret must be there, see Prepare.
func (c *Certificates) Register(mgr ctrl.Manager) error {
	if c.o.Issuer == SelfSigned {
		if err := c.rotate(mgr); err != nil {
			return err
		}
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("webhook-certificate").
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)})
	for _, s := range c.o.Sources {
		b = b.WatchesRawSource(s)
	}
	if err := b.Complete(c); err != nil {
		return fmt.Errorf("set up the webhook certificate controller: %w", err)
	}
	return nil
}

// rotate adds the own authority.
func (c *Certificates) rotate(mgr ctrl.Manager) error {
	err := rotator.AddRotator(mgr, &rotator.CertRotator{
		SecretKey:      c.o.Secret,
		CertDir:        c.o.Dir,
		CAName:         certificateAuthority,
		CAOrganization: authorityOrganization,
		DNSName:        c.o.ServerName,
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
func (c *Certificates) missing(ctx context.Context) error {
	if c.o.Issuer == SelfSigned {
		return ensureSecret(ctx, c.o.Writer, c.o.Secret)
	}
	c.o.Log.Info("The Secret of the webhook's certificate isn't there: cert-manager "+
		"makes it for the Certificate evenkeel-webhook; if it stays away, check that Certificate",
		"secret", c.o.Secret)
	return nil
}

func ensureSecret(ctx context.Context, writer client.Writer, key types.NamespacedName) error {
	err := writer.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace,
		Name:      key.Name,
		Labels:    map[string]string{names.ManagedByLabel: names.ManagedBy},
	}})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the namespace %s doesn't exist: create it first, it holds the webhook's certificate: %w",
			key.Namespace, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("grant the permission to create secrets in namespace %s: %w", key.Namespace, err)
	default:
		return fmt.Errorf("making secret %s: %w", key, err)
	}
}
