// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Options are what a Writer needs.
type Options struct {
	// Generator says what is to be there. Required.
	Generator *Generator
	// Policies are those in force. Required.
	Policies func() []*v1alpha1.ClusterRegoPolicy
	// Prepared says whether requests could be answered: before the catalog is
	// complete, rules would be missing; before the certificate is served, all
	// calls would fail. Required.
	Prepared func() error
	// Reader reads the configurations and the Secret, Client writes. Required.
	Reader client.Reader
	Client client.Writer
	// Secret holds the certificate. Required.
	Secret types.NamespacedName
	// OwnerRole is the ClusterRole that the configurations belong to; empty: nobody.
	// RoleReader reads it from the API server itself: a role that is gone must be seen to be.
	OwnerRole  string
	RoleReader client.Reader
	// Sources ask for a look: whenever the policies, the kinds that are served, the
	// Secret or a configuration change, and at first.
	Sources []source.Source
	// Registerer takes the metrics. Required.
	Registerer prometheus.Registerer
	// Clock tells the time. Required.
	Clock clock.PassiveClock
	// Log is told what is written, and what others do.
	Log logr.Logger
	// Events tells people of what others do to the configurations; nil tells nobody.
	Events events.EventRecorder
}
