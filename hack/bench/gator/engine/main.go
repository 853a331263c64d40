// SPDX-License-Identifier: Apache-2.0

// Command engine judges by Gatekeeper's engine, fed as Gatekeeper's manager feeds it. Numbers are those of the API
// server's JSON, and a cluster-scoped object has no Namespace; the command gator test does both otherwise.
//
// With --objects it says what the audit finds of each, in the form of gator test. With --reviews it answers
// AdmissionReviews, from their bytes, and with --pages it says what the audit finds of the objects of pages of a
// list, from their bytes; with --time as well, it prints what one of them takes of the processors. With --known it
// says whole verdicts of reviews, as the webhook of a cluster with the objects of a file.
package main

import (
	"context"
	"encoding/json"
	"flag"
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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func main() {
	rules := flag.String("rules", "", "ConstraintTemplates and constraints")
	objects := flag.String("objects", "", "the objects to judge")
	reviews := flag.String("reviews", "", "the AdmissionReviews to answer, one a line")
	known := flag.String("known", "", "with --reviews, the objects of the cluster")
	pages := flag.String("pages", "", "the pages of a list to audit, one a line")
	limit := flag.Duration("time", 0, "print what a review or an object takes, measured for this long")
	flag.Parse()
	if err := run(context.Background(), *rules, asked{*objects, *reviews, *known, *pages, *limit}); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(2)
	}
}

// asked is what is to be judged, in files, and for how long it is measured.
type asked struct {
	objects, reviews, known, pages string
	limit                          time.Duration
}

func run(ctx context.Context, rules string, ask asked) error {
	g, err := newEngine(ctx, rules)
	if err != nil {
		return err
	}
	var answer any
	switch {
	case ask.objects != "":
		answer, err = g.audit(ctx, ask.objects)
	case ask.known != "":
		answer, err = g.verdicts(ctx, ask.reviews, ask.known)
	case ask.pages != "" && ask.limit > 0:
		answer, err = g.measurePages(ctx, ask.pages, ask.limit)
	case ask.pages != "":
		answer, err = g.auditPages(ctx, ask.pages)
	case ask.limit > 0:
		answer, err = g.measure(ctx, ask.reviews, ask.limit)
	default:
		answer, err = g.admit(ctx, ask.reviews)
	}
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
	g := &engine{client: client, namespaces: map[string]*corev1.Namespace{}}
	for _, add := range []func(*unstructured.Unstructured) error{
		func(u *unstructured.Unstructured) error { return g.addTemplate(ctx, scheme, u) },
		func(u *unstructured.Unstructured) error { return g.addConstraint(ctx, u) },
	} {
		for _, u := range documents {
			if err := add(u); err != nil {
				return nil, fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
			}
		}
	}
	return g, nil
}

func (g *engine) addTemplate(ctx context.Context, scheme *runtime.Scheme, u *unstructured.Unstructured) error {
	if !reader.IsTemplate(u) {
		return nil
	}
	template, err := reader.ToTemplate(scheme, u)
	if err != nil {
		return err
	}
	_, err = g.client.AddTemplate(ctx, template)
	return err
}

func (g *engine) addConstraint(ctx context.Context, u *unstructured.Unstructured) error {
	if !reader.IsConstraint(u) {
		return nil
	}
	_, err := g.client.AddConstraint(ctx, u)
	return err
}
