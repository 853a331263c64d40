package manager

import (
	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"

	sourcesync "evenkeel.dev/evenkeel/internal/policy/source/sync"
	"evenkeel.dev/evenkeel/internal/wallclock"
)

// register adds the controller of PolicySources and, if it is asked for, the
// receiver.
func (o *sourceOptions) register(mgr ctrl.Manager, namespace string, metrics prometheus.Registerer) error {
	allowed := sourcesync.Namespaces{Own: namespace, Others: o.namespaces}
	account := namespace + ":evenkeel"
	fetcher, err := newGitFetcher(o.dir, o.allowFiles)
	if err != nil {
		return err
	}
	if err := sourcesync.Register(mgr, sourcesync.Options{Fetcher: fetcher, Allowed: allowed, ServiceAccount: account,
		Workers: o.concurrent, Clock: wallclock.New(), Metrics: metrics}); err != nil {
		return err
	}
	if o.receiverAddress == off {
		return nil
	}
	return sourcesync.RegisterReceiver(mgr, sourcesync.ReceiverOptions{Address: o.receiverAddress, CertDir: o.receiverCertDir,
		Allowed: allowed, ServiceAccount: account, Clock: wallclock.New(), Metrics: metrics})
}
