// SPDX-License-Identifier: Apache-2.0

package freeze

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Register adds the figures of the freezes, as they are when they are asked for.
func (f File) Register(r prometheus.Registerer, c clock.PassiveClock) {
	is := func(reason string) func() float64 {
		return func() float64 {
			if f.Gate(c.Now()).Reason == reason {
				return 1
			}
			return 0
		}
	}
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "evenkeel_remediation_frozen",
		Help: "1 while a freeze of the whole cluster lets no plan begin a write. No labels."},
		is(v1alpha1.ReasonFrozen)),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "evenkeel_remediation_freezes_unreadable",
			Help: "1 while the file of freezes can't be read, which lets no plan begin a write. No labels."},
			is(v1alpha1.ReasonFreezesUnreadable)))
}
