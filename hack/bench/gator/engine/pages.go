// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client/reviews"
	mutationtypes "github.com/open-policy-agent/gatekeeper/v3/pkg/mutation/types"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/target"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/util"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// audited is what the audit finds of one object by one constraint.
type audited struct {
	Object     string   `json:"object"`
	Constraint string   `json:"constraint"`
	Messages   []string `json:"messages"`
}

// auditPage judges the objects of a page of a list, from its bytes, as the manager's audit does. What the audit does
// besides isn't among it: the objects of a page are written to files and read again.
func (g *engine) auditPage(ctx context.Context, page []byte, each func(o *unstructured.Unstructured, constraint,
	message string)) (objects int64, err error) {
	list := &unstructured.UnstructuredList{}
	if err := list.UnmarshalJSON(page); err != nil {
		return 0, err
	}
	for i := range list.Items {
		u := &list.Items[i]
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: u.GetNamespace()}}
		options := []reviews.ReviewOpt{reviews.EnforcementPoint(util.AuditEnforcementPoint)}
		if option := util.NamespaceReviewOpt(namespace, logr.Discard()); option != nil {
			options = append(options, option)
		}
		responses, err := g.client.Review(ctx, target.AugmentedUnstructured{Object: *u, Namespace: namespace,
			Source: mutationtypes.SourceTypeOriginal}, options...)
		if err != nil {
			return 0, err
		}
		for _, r := range responses.Results() {
			each(u, r.Constraint.GetName(), r.Msg)
		}
	}
	return int64(len(list.Items)), nil
}

// auditPages says what is found of each object of some pages, one a line.
func (g *engine) auditPages(ctx context.Context, file string) ([]audited, error) {
	pages, err := lines(file)
	if err != nil {
		return nil, err
	}
	all, at := []audited{}, map[[2]string]int{}
	for _, page := range pages {
		_, err := g.auditPage(ctx, page, func(u *unstructured.Unstructured, constraint, message string) {
			key := [2]string{u.GetNamespace() + "/" + u.GetName(), constraint}
			n, known := at[key]
			if !known {
				n = len(all)
				at[key] = n
				all = append(all, audited{Object: key[0], Constraint: constraint})
			}
			all[n].Messages = append(all[n].Messages, message)
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// measurePages is the time that one object takes of the processors, garbage collection included, in nanoseconds.
func (g *engine) measurePages(ctx context.Context, file string, limit time.Duration) (int64, error) {
	pages, err := lines(file)
	if err != nil {
		return 0, err
	}
	all := func() (objects int64, err error) {
		for _, page := range pages {
			n, err := g.auditPage(ctx, page, func(*unstructured.Unstructured, string, string) {})
			if err != nil {
				return 0, err
			}
			objects += n
		}
		return objects, nil
	}
	if _, err := all(); err != nil { // what is done once, is done
		return 0, err
	}
	count := int64(0)
	began := cpu()
	for cpu()-began < limit {
		n, err := all()
		if err != nil {
			return 0, err
		}
		count += n
	}
	return (cpu() - began).Nanoseconds() / count, nil
}
