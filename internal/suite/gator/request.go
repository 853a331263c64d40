// SPDX-License-Identifier: Apache-2.0

package gator

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
	reports "evenkeel.dev/evenkeel/internal/suite"
)

// request asks for the verdict on what a case names, beside the others of its inventory.
func (c *testCase) request(fsys fs.FS, suiteFile string, others []map[string]any) (*policy.Request, error) {
	if c.Object == "" {
		return nil, errors.New("object is missing: give the path of a manifest")
	}
	objects, err := documents(fsys, suiteFile, c.Object)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s holds %s: a case is of one", c.Object, prose.Count(len(objects), "object"))
	}
	object := objects[0].Object
	r := policy.NewAudit(object, nil, reports.Now())
	namespace := r.Namespace
	if isReview(object) {
		if r, err = reviewed(object); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Object, err)
		}
		namespace, _, _ = unstructured.NestedString(object, "request", "namespace")
	}
	r.NamespaceObject = namespaceAmong(others, namespace)
	return r, nil
}

func isReview(object map[string]any) bool {
	version, _ := object["apiVersion"].(string)
	return object["kind"] == "AdmissionReview" && strings.HasPrefix(version, admissionv1.GroupName+"/")
}

// reviewed is the request of an AdmissionReview.
func reviewed(review map[string]any) (*policy.Request, error) {
	var typed admissionv1.AdmissionReview
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(review, &typed, true); err != nil {
		return nil, fmt.Errorf("it is no AdmissionReview: %w", err)
	}
	in := typed.Request
	if in == nil {
		return nil, errors.New("the AdmissionReview has no request")
	}
	given, _ := review["request"].(map[string]any)
	r := &policy.Request{UID: string(in.UID), Operation: policy.Operation(in.Operation),
		Kind:     policy.GroupVersionKind{Group: in.Kind.Group, Version: in.Kind.Version, Kind: in.Kind.Kind},
		Resource: in.Resource.Resource, SubResource: in.SubResource, Namespace: in.Namespace, Name: in.Name,
		RequestKind: (*policy.GroupVersionKind)(in.RequestKind), RequestSubResource: in.RequestSubResource,
		RequestResource: (*policy.GroupVersionResource)(in.RequestResource), UserInfo: userOf(in.UserInfo),
		DryRun: in.DryRun != nil && *in.DryRun, Now: reports.Now()}
	r.Options, _ = given["options"].(map[string]any)
	r.Object, _ = given["object"].(map[string]any)
	r.OldObject, _ = given["oldObject"].(map[string]any)
	judged := r.Judged()
	if judged == nil {
		return nil, errors.New("the AdmissionReview has no object, and on DELETE no oldObject")
	}
	// What the request lacks, the object says: gator matches constraints by that.
	about := policy.NewAudit(judged, nil, r.Now)
	if r.Kind.Kind == "" {
		r.Kind = about.Kind
	}
	r.Namespace, r.Name = cmp.Or(r.Namespace, about.Namespace), cmp.Or(r.Name, about.Name)
	return r, nil
}

func userOf(in authenticationv1.UserInfo) policy.UserInfo {
	user := policy.UserInfo{Username: in.Username, UID: in.UID, Groups: in.Groups}
	if len(in.Extra) > 0 {
		user.Extra = map[string][]string{}
	}
	for key, values := range in.Extra {
		user.Extra[key] = values
	}
	return user
}

// others are the objects of the case's inventory.
func (c *testCase) others(fsys fs.FS, suiteFile string) ([]map[string]any, error) {
	var all []map[string]any
	for _, name := range c.Inventory {
		objects, err := documents(fsys, suiteFile, name)
		if err != nil {
			return nil, fmt.Errorf("inventory: %w", err)
		}
		for _, d := range objects {
			all = append(all, d.Object)
		}
	}
	return all, nil
}

// namespaceAmong is the Namespace of a name among the objects of an inventory; nil where it isn't there. Of an
// AdmissionReview gator asks for the one that the request names, whatever its object says.
func namespaceAmong(others []map[string]any, name string) (found map[string]any) {
	for _, object := range others {
		if name != "" && object["apiVersion"] == "v1" && object["kind"] == "Namespace" &&
			policy.Metadata(object)["name"] == name {
			found = object
		}
	}
	return found
}
