// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"net/http"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Status is the outcome of a check.
type Status string

const (
	// OK: as it should be.
	OK Status = "ok"
	// Warn: it works, but somebody should know.
	Warn Status = "warn"
	// Fail: something doesn't work.
	Fail Status = "fail"
	// Unknown: it couldn't be looked at, which is never fine.
	Unknown Status = "unknown"
	// Skipped: whoever asks may not look at it, and what it would show is shown otherwise, as the message says.
	Skipped Status = "skipped"
)

// Finding is what a check has found.
type Finding struct {
	// Check is the name of the check.
	Check  string `json:"check"`
	Status Status `json:"status"`
	// Message says what is so, naming the object.
	Message string `json:"message"`
	// Do says what to do; empty when nothing is.
	Do string `json:"do,omitempty"`

	// lack is set where a permission is missing.
	lack *lack
}

// Installation is what is looked at, and how.
type Installation struct {
	// Client reads the cluster, and makes dry runs and access reviews.
	Client client.Client
	Mapper meta.RESTMapper
	// HTTP talks to the API server at Server, with the same credentials.
	HTTP   *http.Client
	Server string
	Clock  clock.PassiveClock
	// Namespace is the manager's own, ServiceAccount the one that it runs as.
	Namespace, ServiceAccount string
	// Kinds are the CustomResourceDefinitions of this version.
	Kinds []*apiextensionsv1.CustomResourceDefinition
	// RequestPolicies and RequestBindings ask for the verbs of people's requests, in this version.
	RequestPolicies []*admissionregistrationv1.ValidatingAdmissionPolicy
	RequestBindings []*admissionregistrationv1.ValidatingAdmissionPolicyBinding
	// KeyPolicies and KeyBindings warn of annotations and labels without effect, in this version.
	KeyPolicies []*admissionregistrationv1.ValidatingAdmissionPolicy
	KeyBindings []*admissionregistrationv1.ValidatingAdmissionPolicyBinding

	// working is whether a manager is at work, once that was asked.
	working *working
}

// check looks at one part of an installation.
type check struct {
	name string
	look func(context.Context, *Installation) []Finding
}

// checkServer is the check that all others depend on.
const checkServer = "api-server"

// checks is what is looked at, in the order in which things depend on each other:
// the first that fails is the first to fix.
func checks() []check {
	return []check{
		{checkServer, apiServer},                // its version, and whether the clocks agree
		{"kinds", kinds},                        // CustomResourceDefinitions, at this version
		{"objects", objects},                    // of the form of their kinds
		{"manager", manager},                    // replicas
		{"leader", leader},                      // a fresh lease
		{"webhooks", webhooks},                  // entries, what they lead to, failure policies
		{"requests", requestGuards},             // who may pause, undo, reset, approve
		{"cold-start", coldStart},               // what nodes need passes while nobody answers
		{"certificate", certificate},            // authority and serving certificate
		{"admission", admission},                // does the webhook answer, and judge?
		{"policies", policies},                  // in force at their newest revision
		{"overrides", overrides},                // none softened
		{"sources", sources},                    // repositories read
		{"scan", scans},                         // complete and fresh
		{"read-permissions", readPermissions},   // of the manager, on what policies match
		{"write-permissions", writePermissions}, // on what they would fix
		{"opt-outs", optOuts},                   // those that are written have effect
		{"breakers", breakers},                  // nothing is held back
		{"rollouts", rollouts},                  // nobody is waited for
		{"alert-delivery", alertDelivery},       // an Alertmanager is told
	}
}

// patience is how long one check may take.
const patience = 15 * time.Second

// Run makes all checks, and tells each one's findings as soon as they are there.
// When no API server answers, or it doesn't take the credentials, nothing else can be looked at: it
// stops there, rather than say the same of every check, or wait as long for each.
func Run(ctx context.Context, in *Installation, tell func(Finding)) []Finding {
	var all []Finding
	once := *in
	in, once.working = &once, nil
	asked := map[string]bool{}
	for _, c := range checks() {
		within, cancel := context.WithTimeout(ctx, patience)
		found := joined(c.look(within, in), asked)
		cancel()
		interrupted := ctx.Err() != nil // what failed then says nothing of the installation
		if interrupted {
			found = []Finding{{Status: Unknown, Message: "interrupted: neither this check nor what comes after it " +
				"was made"}}
		}
		for _, f := range found {
			f.Check = c.name
			all = append(all, f)
			if tell != nil {
				tell(f)
			}
		}
		if interrupted || c.name == checkServer && (found[0].Status == Unknown || found[0].Status == Fail &&
			len(found) == 1) {
			break
		}
	}
	return all
}

// Worst is the worst status among findings: a failure, else what isn't known, else
// a warning. What was skipped counts as fine.
func Worst(findings []Finding) Status {
	rank := map[Status]int{OK: 0, Skipped: 0, Warn: 1, Unknown: 2, Fail: 3}
	worst := OK
	for _, f := range findings {
		if rank[f.Status] > rank[worst] {
			worst = f.Status
		}
	}
	return worst
}
