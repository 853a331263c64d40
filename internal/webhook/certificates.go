package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Certificates brings the serving certificate from the Secret, where the rotator
// renews it, to the directory that the webhook server watches. It runs on every
// replica. In a cluster the directory is an emptyDir: a mounted Secret would lag
// behind by a minute or more.
//
// After the authority was renewed, a replica goes on serving its old certificate
// until the API server has been told to trust the new authority, so that no
// request is lost in between.
type Certificates struct {
	reader client.Reader
	writer client.Writer
	secret types.NamespacedName
	dir    string

	once  sync.Once
	ready chan struct{}
}

// NewCertificates takes a cached reader of the Secret and the configuration.
func NewCertificates(reader client.Reader, writer client.Writer, secret types.NamespacedName, dir string) *Certificates {
	return &Certificates{reader: reader, writer: writer, secret: secret, dir: dir, ready: make(chan struct{})}
}

// Ready is closed once a certificate lies in the directory.
func (c *Certificates) Ready() <-chan struct{} { return c.ready }

// Check is a readiness check: nil once there is a certificate to serve with.
func (c *Certificates) Check(*http.Request) error {
	select {
	case <-c.ready:
		return nil
	default:
		return fmt.Errorf("the serving certificate isn't in secret %s yet: it's being made", c.secret)
	}
}

// Reconcile brings the directory in step with the Secret, and makes the Secret
// anew when it is gone: the rotator only fills one that exists.
func (c *Certificates) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var secret corev1.Secret
	err := c.reader.Get(ctx, c.secret, &secret)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, ensureSecret(ctx, c.writer, c.secret)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading secret %s: %w", c.secret, err)
	}
	if len(secret.Data[serverCertName]) == 0 || !secret.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if c.serving() {
		found, err := readConfigurations(ctx, c.reader)
		if err != nil {
			return ctrl.Result{}, err
		}
		for _, bundle := range found.trusted() {
			if !trusts(bundle, secret.Data[caCertName]) {
				return ctrl.Result{}, nil // the configuration's change brings us back
			}
		}
	}
	if err := writeCertDir(c.dir, secret.Data); err != nil {
		return ctrl.Result{}, fmt.Errorf("secret %s: %w", c.secret, err)
	}
	c.once.Do(func() { close(c.ready) })
	return ctrl.Result{}, nil
}

func (c *Certificates) serving() bool {
	select {
	case <-c.ready:
		return true
	default:
		return false
	}
}

// ensureSecret makes the Secret, empty, unless it is there.
func ensureSecret(ctx context.Context, writer client.Writer, key types.NamespacedName) error {
	err := writer.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace,
		Name:      key.Name,
		Labels:    map[string]string{managedByLabel: managedBy},
	}})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the namespace %s doesn't exist: create it first, it holds the webhook's certificate: %w", key.Namespace, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("grant the right to create secrets in namespace %s: %w", key.Namespace, err)
	default:
		return fmt.Errorf("making secret %s: %w", key, err)
	}
}

// errNoAuthority means that the rotator hasn't made the authority yet.
var errNoAuthority = errors.New("the certificate authority isn't made yet")
