// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/manager/limitflags"
	"evenkeel.dev/evenkeel/internal/scan"
	"evenkeel.dev/evenkeel/internal/webhook"
	"evenkeel.dev/evenkeel/internal/webhook/certificates"
)

// Options are the flags of the manager.
type Options struct {
	namespace        string
	leaderElect      bool
	leaderNamespace  string
	leaseDuration    time.Duration
	renewDeadline    time.Duration
	retryPeriod      time.Duration
	metricsAddress   string
	metricsInsecure  bool
	probeAddress     string
	webhookHost      string
	webhookPort      int
	webhookURL       string
	webhookService   string
	webhookOwner     string
	webhookTimeout   time.Duration
	clientCAFile     string
	admissionMemory  string
	certDir          string
	certificates     string
	exemptNamespaces []string
	resync           time.Duration
	listShare        float64
	statusInterval   time.Duration
	policyTimeLimit  time.Duration
	engines          engineOptions
	apiQPS           float32
	apiBurst         int
	rollouts         int
	intervals        intervals
	gracePeriod      time.Duration
	escalation       escalationOptions
	analysis         analysisOptions
	slo              sloOptions
	sources          sourceOptions
	tools            limitflags.Tools
	fixes            limitflags.Reach
	careful          limitflags.Floors
	freezeFile       string
	annotateObjects  bool
	references       referenceOptions
}

// AddFlags adds the flags with their defaults.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.namespace, "namespace", envOr("POD_NAMESPACE", "evenkeel-system"),
		"the controller's own namespace: its lease and certificate live there, and nothing in it is judged at "+
			"admission (env POD_NAMESPACE)")
	f.BoolVar(&o.leaderElect, "leader-elect", true, "let one of several replicas scan and remediate")
	f.StringVar(&o.leaderNamespace, "leader-election-namespace", "",
		"the namespace of the lease (default: --namespace)")
	f.DurationVar(&o.leaseDuration, "leader-election-lease-duration", 15*time.Second,
		"how long a leader that is gone is waited for")
	f.DurationVar(&o.renewDeadline, "leader-election-renew-deadline", 10*time.Second,
		"how long the leader tries to renew its lease before it gives up")
	f.DurationVar(&o.retryPeriod, "leader-election-retry-period", 2*time.Second, "how often the lease is tried for")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443", `where metrics are served; "0" turns them off`)
	f.BoolVar(&o.metricsInsecure, "metrics-insecure", false,
		"serve metrics over plain HTTP without asking who reads them; for a local run")
	f.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "where /healthz and /readyz are served")
	f.StringVar(&o.webhookHost, "webhook-host", "", "the address that the webhook server listens on (default: all)")
	f.IntVar(&o.webhookPort, "webhook-port", 9443, "the port that the webhook server listens on")
	f.StringVar(&o.webhookURL, "webhook-url", "", "where the API server reaches the webhook when the manager runs "+
		"outside the cluster, for example https://localhost:9443")
	f.StringVar(&o.webhookService, "webhook-service", "evenkeel-webhook",
		"the Service in --namespace that leads to the webhook, unless --webhook-url is set")
	f.StringVar(&o.webhookOwner, "webhook-owner", "", "the ClusterRole that the webhook configurations belong to: "+
		"they are removed with it, so that an uninstall leaves none behind (default: none)")
	f.DurationVar(&o.webhookTimeout, "webhook-timeout", 5*time.Second,
		"how long the API server waits for a verdict, 1s to 30s")
	f.StringVar(&o.clientCAFile, "webhook-client-ca-file", "", "authorities, in PEM, of the client certificate that "+
		"the API server shows to the webhook; connections with another certificate are refused (default: anybody is)")
	f.StringVar(&o.admissionMemory, "admission-memory", "256Mi", "what all admission reviews together may take of "+
		"this replica's memory while they are read and judged, at least 64Mi; what doesn't fit waits, and is refused "+
		"under Deny policies after half of --webhook-timeout")
	f.StringVar(&o.certDir, "cert-dir", filepath.Join(os.TempDir(), "evenkeel-webhook-certs"),
		"a directory of this replica's own for the webhook's certificate")
	f.StringVar(&o.certificates, "webhook-certificates", string(certificates.SelfSigned), "who makes the webhook's "+
		"certificate: self-signed (an authority of the manager's own) or cert-manager (by the Certificate of "+
		"config/certmanager)")
	f.StringSliceVar(&o.exemptNamespaces, "exempt-namespaces", []string{"kube-system", "kube-node-lease"},
		"namespaces that admission never judges, besides --namespace")
	f.DurationVar(&o.resync, "resync", 10*time.Minute, "full resync period of every kind")
	f.Float64Var(&o.listShare, "scan-list-share", scan.DefaultListShare, "the largest share of the time in which all "+
		"objects of one kind are listed because policies have changed; 0.5: it rests as long as the list took")
	f.DurationVar(&o.statusInterval, "scan-status-interval", scan.DefaultStatusInterval, "the least time between two "+
		"writes of a policy's status that change only its figures")
	f.DurationVar(&o.policyTimeLimit, "policy-time-limit", time.Second,
		"the longest that one policy may take for one object")
	o.engines.AddFlags(f)
	o.references.AddFlags(f)
	f.Float32Var(&o.apiQPS, "kube-api-qps", 100, "requests a second to the API server")
	f.IntVar(&o.apiBurst, "kube-api-burst", 200, "requests at once to the API server")
	f.IntVar(&o.rollouts, "concurrent-rollouts", 4, "plans that are worked on at a time")
	f.DurationVar(&o.gracePeriod, "graceful-shutdown-timeout", 15*time.Second,
		"how long running work may take to end at a shutdown")
	o.intervals.AddFlags(f)
	o.addWriteFlags(f)
	o.escalation.AddFlags(f)
	o.analysis.AddFlags(f)
	o.slo.AddFlags(f)
	o.sources.AddFlags(f)
	o.tools.AddFlags(f)
	o.fixes.AddFlags(f)
	o.careful.AddFlags(f)
}

func (o *Options) addWriteFlags(f *pflag.FlagSet) {
	f.StringVar(&o.freezeFile, "remediation-freeze-file", "", "a YAML file of times at which no plan begins a write, "+
		"such as holidays; it is re-read every time, and counts as a freeze while it can't be read (default: none)")
	f.BoolVar(&o.annotateObjects, "remediation-annotate-objects", true, "let each fix that is written name its plan "+
		"in the annotation evenkeel.dev/last-remediation of the object")
}

// Validate says what is wrong with the flags, all at once.
func (o *Options) Validate() error {
	var errs []error
	if o.namespace == "" {
		errs = append(errs, errors.New("--namespace must not be empty"))
	}
	if o.webhookURL != "" && !httpsURL(o.webhookURL) {
		errs = append(errs, fmt.Errorf("--webhook-url %q must be of the form https://HOST:PORT", o.webhookURL))
	}
	if source := certificates.Issuer(o.certificates); source != certificates.SelfSigned &&
		source != certificates.CertManager {
		errs = append(errs, fmt.Errorf("--webhook-certificates %q must be %s or %s", o.certificates,
			certificates.SelfSigned,
			certificates.CertManager))
	}
	if o.webhookTimeout < time.Second || o.webhookTimeout > 30*time.Second {
		errs = append(errs, fmt.Errorf("--webhook-timeout %s must be from 1s to 30s", o.webhookTimeout))
	}
	if o.policyTimeLimit <= 0 || o.policyTimeLimit > o.webhookTimeout {
		errs = append(errs, fmt.Errorf("--policy-time-limit %s must be positive and at most --webhook-timeout %s",
			o.policyTimeLimit, o.webhookTimeout))
	}
	return errors.Join(append(errs, o.validateScan(), o.engines.Validate(), o.references.Validate(), o.validateLease(),
		o.validateLimits(), o.validateMemory(), o.intervals.Validate(), o.escalation.Validate(), o.analysis.Validate(),
		o.slo.Validate(o.analysis.url), o.sources.Validate(), o.tools.Validate(), o.fixes.Validate(),
		o.careful.Validate())...)
}

// minListShare has a kind rest for a thousand times as long as a list took.
const minListShare = 0.001

func (o *Options) validateScan() error {
	var errs []error
	if !(o.listShare >= minListShare && o.listShare <= 1) { // NaN isn't
		errs = append(errs, fmt.Errorf("--scan-list-share %g must be at least %g and at most 1", o.listShare,
			minListShare))
	}
	if o.statusInterval < time.Second {
		errs = append(errs, fmt.Errorf("--scan-status-interval %s must be at least 1s", o.statusInterval))
	}
	if o.resync < time.Second {
		errs = append(errs, fmt.Errorf("--resync %s must be at least 1s", o.resync))
	}
	return errors.Join(errs...)
}

func (o *Options) validateMemory() error {
	if o.memory() >= webhook.MinMemory {
		return nil
	}
	return fmt.Errorf("--admission-memory %q must be a quantity of bytes of at least %d MiB, for example 256Mi",
		o.admissionMemory, webhook.MinMemory>>20)
}

// memory is what admission may take in bytes, or 0 when that isn't a quantity.
func (o *Options) memory() int64 {
	q, err := resource.ParseQuantity(o.admissionMemory)
	if err != nil {
		return 0
	}
	return q.Value()
}

func (o *Options) validateLease() error {
	if o.renewDeadline < o.leaseDuration && o.retryPeriod < o.renewDeadline {
		return nil
	}
	return fmt.Errorf("--leader-election-lease-duration %s must exceed --leader-election-renew-deadline %s, and that "+
		"--leader-election-retry-period %s",
		o.leaseDuration, o.renewDeadline, o.retryPeriod)
}

func (o *Options) validateLimits() error {
	if o.apiQPS > 0 && o.apiBurst > 0 && o.rollouts > 0 {
		return nil
	}
	return errors.New("--kube-api-qps, --kube-api-burst and --concurrent-rollouts must be positive")
}

func httpsURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Hostname() != ""
}

func envOr(key, fallback string) string {
	if v := os.Getenv(key); v != "" {
		return v
	}
	return fallback
}

func (o *Options) reach() limits.Reach {
	return o.fixes.Value(append(slices.Clone(o.exemptNamespaces), o.namespace)...)
}
