// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate"
	"evenkeel.dev/evenkeel/internal/remediate/freeze"
	"evenkeel.dev/evenkeel/internal/scan"
	"evenkeel.dev/evenkeel/internal/version"
	"evenkeel.dev/evenkeel/internal/wallclock"
	"evenkeel.dev/evenkeel/internal/webhook"
	"evenkeel.dev/evenkeel/internal/webhook/certificates"
)

// Run puts the parts together and runs them until ctx ends.
func Run(ctx context.Context, o *Options) error {
	mgr, err := newManager(o)
	if err != nil {
		return err
	}
	alerts, err := o.escalation.config(o.namespace, ctrlmetrics.Registry)
	if err != nil {
		return err
	}
	policies, referred, err := o.policies(mgr)
	if err != nil {
		return fmt.Errorf("set up the policy catalog: %w", err)
	}
	if err := o.admit(ctx, mgr, policies, alerts.Docs); err != nil {
		return fmt.Errorf("set up admission: %w", err)
	}
	scanning := scan.NewControllers(scan.Options{Catalog: policies, ResyncPeriod: o.resync, ListShare: o.listShare,
		StatusInterval: o.statusInterval, References: referred,
		Clock: wallclock.New(), Registerer: ctrlmetrics.Registry})
	if err := scanning.Register(mgr); err != nil {
		return fmt.Errorf("set up the scan: %w", err)
	}
	analyzer, err := o.analysis.analyzer(ctrlmetrics.Registry)
	if err != nil {
		return err
	}
	index := scanning.Index()
	if err := remediate.NewControllers(remediate.Options{Policies: policies, Findings: index,
		Scan: index, Changes: index.Changes(),
		Clock: wallclock.New(), Metrics: ctrlmetrics.Registry, Rollouts: o.rollouts, PollInterval: o.intervals.rollout,
		PlanInterval: o.intervals.plan, PlanDelay: o.intervals.planDelay, StormInterval: o.intervals.storm,
		Freezes:  freeze.File(o.freezeFile),
		Analyzer: analyzer,
		SLO:      o.slo.strategy(), SLOInterval: o.slo.interval,
		Tools: o.tools.Value(), Reach: o.reach(), Floors: o.careful.Value(),
		Annotate: o.annotateObjects}).Register(mgr); err != nil {
		return fmt.Errorf("set up remediation: %w", err)
	}
	if err := o.sources.register(mgr, o.namespace, ctrlmetrics.Registry); err != nil {
		return fmt.Errorf("set up policy sources: %w", err)
	}
	if err := escalateBy(mgr, alerts); err != nil {
		return fmt.Errorf("set up escalation: %w", err)
	}
	if err := errors.Join(addGuards(mgr), mgr.AddHealthzCheck("ping", healthz.Ping)); err != nil {
		return err
	}
	ctrl.Log.Info("starting", "version", version.String(), "namespace", o.namespace)
	return mgr.Start(ctx)
}

func (o *Options) admit(ctx context.Context, mgr ctrl.Manager, policies *catalog.Catalog, docs policy.Docs) error {
	admission, err := webhook.New(webhook.Options{Catalog: policies, Namespace: o.namespace, CertDir: o.certDir,
		Certificates: certificates.Issuer(o.certificates), ClientCAFile: o.clientCAFile, URLBase: o.webhookURL,
		ServiceName: o.webhookService, OwnerRole: o.webhookOwner,
		Host: o.webhookHost, Port: o.webhookPort, Timeout: o.webhookTimeout, Docs: docs, Memory: o.memory(),
		ExemptNamespaces: o.exemptNamespaces, Reach: o.reach(), Floors: o.careful.Value(),
		Registerer: ctrlmetrics.Registry, Clock: wallclock.New()})
	if err != nil {
		return err
	}
	return admission.Register(ctx, mgr)
}

func newManager(o *Options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to work on: %w; set --kubeconfig or KUBECONFIG", err)
	}
	credentials, err := kube.NewCredentials(wallclock.New(), kube.CredentialsGrace, ctrlmetrics.Registry,
		ctrl.Log.WithName("credentials"))
	if err != nil {
		return nil, err
	}
	lists, err := kube.NewLists(scheme, ctrlmetrics.Registry, ctrl.Log.WithName("lists"))
	if err != nil {
		return nil, err
	}
	config.Wrap(credentials.Watch)
	config.Wrap(lists.Wrap)
	config.QPS, config.Burst, config.UserAgent = o.apiQPS, o.apiBurst, "evenkeel/"+version.String()
	leaderNamespace := o.leaderNamespace
	if leaderNamespace == "" {
		leaderNamespace = o.namespace
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		LeaderElection:          o.leaderElect,
		LeaderElectionID:        "evenkeel-leader",
		LeaderElectionNamespace: leaderNamespace,
		// The lease is given back at a clean end: the process exits right after.
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.leaseDuration,
		RenewDeadline:                 &o.renewDeadline,
		RetryPeriod:                   &o.retryPeriod,
		GracefulShutdownTimeout:       &o.gracePeriod,
		HealthProbeBindAddress:        o.probeAddress,
		Metrics:                       metricsServer(o),
		// Remediation reads targets anew, never from a cache.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: false}},
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	return mgr, mgr.Add(credentials)
}

func escalateBy(mgr ctrl.Manager, alerts escalate.Options) error {
	c, err := escalate.NewController(alerts)
	if err != nil {
		return err
	}
	return c.Register(mgr)
}
