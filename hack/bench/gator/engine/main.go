// SPDX-License-Identifier: Apache-2.0

// Command engine judges by Gatekeeper's engine, fed as Gatekeeper's manager feeds it. Numbers are those of the API
// server's JSON, and a cluster-scoped object has no Namespace; the command gator test does both otherwise. It reads a
// question from its argument and prints the answer, both in JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/open-policy-agent/frameworks/constraint/pkg/apis"
	constraintclient "github.com/open-policy-agent/frameworks/constraint/pkg/client"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client/drivers/rego"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/gator/reader"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/target"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/util"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// question is what is asked. Without reviews and without a list, it asks for what the audit finds of the known objects.
type question struct {
	// Rules is a file of ConstraintTemplates and constraints.
	Rules string
	// Known is a file of the cluster's objects: the inventory, and the Namespaces.
	Known string
	// Reviews is a file of AdmissionReviews, one a line, to answer as the webhook does.
	Reviews string
	// List is a file of a list, as the API server sends it, to audit.
	List string
	// Time is how long a review or an object of the list is measured; 0 asks for the verdicts.
	Time time.Duration
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context) error {
	var q question
	if len(os.Args) != 2 {
		return errors.New("one argument is expected, a question in JSON")
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &q); err != nil {
		return err
	}
	g, err := newEngine(ctx, q.Rules)
	if err != nil {
		return err
	}
	answer, err := g.answer(ctx, q)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

// engine is Gatekeeper's client with its Rego driver.
type engine struct {
	client     *constraintclient.Client
	namespaces map[string]*corev1.Namespace
}

// newEngine has the templates and constraints of a file.
func newEngine(ctx context.Context, rules string) (*engine, error) {
	driver, err := rego.New()
	if err != nil {
		return nil, err
	}
	client, err := constraintclient.NewClient(constraintclient.Targets(&target.K8sValidationTarget{}),
		constraintclient.Driver(driver),
		constraintclient.EnforcementPoints(util.WebhookEnforcementPoint, util.AuditEnforcementPoint))
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		return nil, err
	}
	documents, err := read(rules)
	if err != nil {
		return nil, err
	}
	for _, u := range documents {
		if !reader.IsTemplate(u) {
			continue
		}
		template, err := reader.ToTemplate(scheme, u)
		if err == nil {
			_, err = client.AddTemplate(ctx, template)
		}
		if err != nil {
			return nil, fmt.Errorf("template %s: %w", u.GetName(), err)
		}
	}
	for _, u := range documents {
		if !reader.IsConstraint(u) {
			continue
		}
		if _, err := client.AddConstraint(ctx, u); err != nil {
			return nil, fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return &engine{client: client, namespaces: map[string]*corev1.Namespace{}}, nil
}
