// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/certificates"
	"evenkeel.dev/evenkeel/internal/webhook/configuration"
	"evenkeel.dev/evenkeel/internal/webhook/discovery"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/internal/webhook/review"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// Admission judges requests by the policies in force.
type Admission struct{ o Options }

// New makes admission, unless its options are wrong.
func New(o Options) (*Admission, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Admission{o.withDefaults()}, nil
}

// Register joins the manager: on every replica the server with its
// endpoints, the certificate and the readiness checks "webhook" and "catalog"; on
// the leader the writer of the webhook configurations. With an authority of its own
// it makes the certificate's Secret when there is none. The API server must be
// reachable: ctx bounds what is asked of it before the manager starts.
func (a *Admission) Register(ctx context.Context, mgr ctrl.Manager) error {
	s := setup{mgr: mgr, Options: a.o}
	for _, step := range []func(context.Context) error{s.prepare, s.certify, s.serve, s.configure} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("setting up admission: %w", err)
		}
	}
	return nil
}

// setup carries what the steps share.
type setup struct {
	Options
	mgr   ctrl.Manager
	cache cache.Cache
	// kindCache holds the definitions of custom kinds, apart from all else: the
	// start of every controller waits for the whole of its cache, and a missing
	// permission to list definitions must not keep policies from coming into force.
	kindCache cache.Cache
	kinds     *discovery.Kinds
	certs     *certificates.Certificates
	requests  *serving.Metrics
	verdicts  *review.Metrics
	// self is the user that the API server knows this manager as.
	self string
	// judged reads the reviews that policies judge, own those of Evenkeel's own kinds.
	judged, own *serving.Reader
	// listening is nil once the server takes connections.
	listening healthz.Checker
}

// ownCache is a cache that runs on every replica, leader or not.
type ownCache struct{ cache.Cache }

func (c ownCache) GetCache() cache.Cache { return c.Cache }

// prepare makes the cache of the few objects that admission itself needs, and no
// other Secret or configuration.
func (s *setup) prepare(context.Context) error {
	own, err := cache.New(s.mgr.GetConfig(), cache.Options{
		HTTPClient: s.mgr.GetHTTPClient(),
		Scheme:     s.mgr.GetScheme(),
		Mapper:     s.mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {
				Namespaces: map[string]cache.Config{s.Namespace: {}},
				Field:      fields.OneTermEqualSelector("metadata.name", s.SecretName),
			},
			&admissionregistrationv1.ValidatingWebhookConfiguration{}: {
				Field: fields.OneTermEqualSelector("metadata.name", names.Configuration),
			},
			&admissionregistrationv1.MutatingWebhookConfiguration{}: {
				Field: fields.OneTermEqualSelector("metadata.name", names.Configuration),
			},
		},
	})
	if err != nil {
		return fmt.Errorf("making a cache: %w", err)
	}
	s.cache = own
	s.kinds = discovery.NewKinds(func() (meta.RESTMapper, error) {
		return apiutil.NewDynamicRESTMapper(s.mgr.GetConfig(), s.mgr.GetHTTPClient())
	})
	s.kindCache, err = cache.New(
		s.mgr.GetConfig(), cache.Options{HTTPClient: s.mgr.GetHTTPClient(), Scheme: s.mgr.GetScheme(),
			Mapper: s.mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("making a cache: %w", err)
	}
	for _, c := range []cache.Cache{own, s.kindCache} {
		if err := s.mgr.Add(ownCache{c}); err != nil {
			return err
		}
	}
	if s.requests, err = serving.NewMetrics(s.Registerer); err != nil {
		return fmt.Errorf("registering the metrics: %w", err)
	}
	if s.verdicts, err = review.NewMetrics(s.Registerer); err != nil {
		return fmt.Errorf("registering the metrics: %w", err)
	}
	s.judged, s.own = serving.NewReaders(s.Memory)
	return nil
}

func (s *setup) serve(ctx context.Context) error {
	var err error
	if s.self, err = ownName(ctx, s.mgr.GetClient()); err != nil {
		return err
	}
	namespaces := review.NewCachedNamespaces(s.mgr.GetCache(), s.mgr.GetAPIReader())
	if err := namespaces.Watch(ctx, s.mgr.GetCache()); err != nil {
		return err
	}
	log := s.mgr.GetLogger().WithName("webhook")
	config, err := certificates.TLSConfig(s.ClientCAFile, log)
	if err != nil {
		return err
	}
	server := &serving.Server{
		Address:  net.JoinHostPort(s.Host, strconv.Itoa(s.Port)),
		Handlers: s.endpoints(namespaces, s.self),
		TLS:      config,
		Log:      serving.ConnectionLog((&serving.Quiet{Clock: s.Clock}).Logger(log)),
		Clock:    s.Clock,
	}
	if err := s.mgr.AddReadyzCheck("catalog", s.Catalog.Check); err != nil {
		return err
	}
	s.listening = server.Check
	if err := s.mgr.AddReadyzCheck("webhook", s.serving); err != nil {
		return err
	}
	return s.mgr.Add(&certifiedServer{server: server, certified: s.certs.Ready(), certDir: s.CertDir, log: log})
}

// serving is a readiness check: nil once requests can be answered over TLS.
func (s *setup) serving(r *http.Request) error {
	if err := s.certs.Check(r); err != nil {
		return err
	}
	return s.listening(r)
}

func ownName(ctx context.Context, c client.Client) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return "", fmt.Errorf("asking the API server who this manager is: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// certifiedServer starts the server once there is a certificate: it would fail
// without, and the manager starts servers before the controllers that bring one.
type certifiedServer struct {
	server    *serving.Server
	certified <-chan struct{}
	certDir   string
	log       logr.Logger
}

// NeedLeaderElection is false: every replica answers.
func (*certifiedServer) NeedLeaderElection() bool { return false }

func (c *certifiedServer) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.certified:
		if err := certificates.Follow(ctx, c.server.TLS, c.certDir, c.log); err != nil {
			return err
		}
		return c.server.Start(ctx)
	}
}

// certify adds what brings the certificate to the directory, and makes it unless
// cert-manager does.
func (s *setup) certify(ctx context.Context) error {
	var err error
	s.certs, err = certificates.New(certificates.Options{
		Issuer:     s.Certificates,
		Secret:     s.secretKey(),
		Dir:        s.CertDir,
		ServerName: s.endpoint().ServerName(),
		Reader:     s.cache,
		Writer:     s.mgr.GetClient(),
		Trusted:    func(ctx context.Context) ([][]byte, error) { return configuration.Trusted(ctx, s.cache) },
		Sources:    s.sources(),
		Registerer: s.Registerer,
		Clock:      s.Clock,
		Log:        s.mgr.GetLogger().WithName("webhook"),
	})
	if err != nil {
		return err
	}
	if err := s.certs.Prepare(ctx); err != nil {
		return err
	}
	return s.certs.Register(s.mgr)
}

func (s *setup) configure(context.Context) error {
	writer, err := configuration.New(configuration.Options{
		Generator: &configuration.Generator{Endpoint: s.endpoint(), Timeout: s.Timeout,
			ExemptNamespaces: s.exempt(), Self: s.self, Kinds: s.kinds},
		Policies: func() []*v1alpha1.ClusterRegoPolicy { return s.Catalog.Snapshot().Policies() },
		Prepared: func() error {
			if err := s.Catalog.Check(nil); err != nil {
				return err
			}
			return s.serving(nil)
		},
		Reader:     s.cache,
		Client:     s.mgr.GetClient(),
		Secret:     s.secretKey(),
		OwnerRole:  s.OwnerRole,
		RoleReader: s.mgr.GetAPIReader(),
		Sources:    append(s.sources(), s.definitions(), changes(s.Catalog.Subscribe())),
		Registerer: s.Registerer,
		Clock:      s.Clock,
		Log:        s.mgr.GetLogger().WithName("webhook-configuration"),
		Events:     s.mgr.GetEventRecorder("evenkeel-webhook"),
	})
	if err != nil {
		return err
	}
	return writer.Register(s.mgr)
}
