// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"

	"evenkeel.dev/evenkeel/internal/source"
	"evenkeel.dev/evenkeel/internal/source/access"
	"evenkeel.dev/evenkeel/internal/source/git"
	"evenkeel.dev/evenkeel/internal/source/receiver"
	"evenkeel.dev/evenkeel/internal/wallclock"
)

// register adds the controller of PolicySources and, if it is asked for, the
// receiver.
func (o *sourceOptions) register(mgr ctrl.Manager, namespace string, metrics prometheus.Registerer) error {
	allowed := access.Namespaces{Own: namespace, Others: o.namespaces}
	account := namespace + ":evenkeel"
	fetcher, err := git.NewFetcher(git.Options{Dir: o.dir, Clock: wallclock.New(), AllowFile: o.allowFiles})
	if err != nil {
		return err
	}
	sources := source.NewController(source.Options{Fetcher: fetcher, Allowed: allowed, ServiceAccount: account,
		Workers: o.concurrent, Clock: wallclock.New(), Metrics: metrics})
	if err := sources.Register(mgr); err != nil {
		return err
	}
	if o.receiverAddress == off {
		return nil
	}
	return receiver.New(receiver.Options{Address: o.receiverAddress, CertDir: o.receiverCertDir, Allowed: allowed,
		ServiceAccount: account, Clock: wallclock.New(), Metrics: metrics}).Register(mgr)
}
