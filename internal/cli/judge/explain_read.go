// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
)

// read reads the object, and the Namespace that it lives in: none where that may not be read, which is told.
func (o *explainOptions) read(ctx context.Context, c client.Reader, kind, name string) (
	object, namespace *unstructured.Unstructured, unread []string, err error) {
	mapping, err := o.mapping(kind)
	if err != nil {
		return nil, nil, nil, err
	}
	object = &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	key := client.ObjectKey{Name: name}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if key.Namespace, err = o.inNamespace(); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := c.Get(ctx, key, object); err != nil {
		if key.Namespace != "" && o.namespace == "" && apierrors.IsNotFound(err) {
			err = fmt.Errorf("%w; give its namespace with -n", err)
		}
		return nil, nil, nil, connect.Failure(
			fmt.Sprintf("read %s %s", mapping.GroupVersionKind.Kind, strings.TrimPrefix(key.String(), "/")), err)
	}
	namespace, unread, err = namespaceOf(ctx, c, key.Namespace)
	return object, namespace, unread, err
}

// namespaceOf reads the Namespace that an object lives in: none for no name, nor where it may not be read, which is
// told.
func namespaceOf(ctx context.Context, c client.Reader, name string) (
	namespace *unstructured.Unstructured, unread []string, err error) {
	if name == "" {
		return nil, nil, nil
	}
	namespace = &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	switch err := c.Get(ctx, client.ObjectKey{Name: name}, namespace); {
	case apierrors.IsForbidden(err):
		return nil, []string{connect.Failure("read namespace "+name, err).Error()}, nil
	case err != nil:
		return nil, nil, connect.Failure("read namespace "+name, err)
	}
	return namespace, nil, nil
}

func (o *explainOptions) inNamespace() (string, error) {
	if o.namespace != "" {
		return o.namespace, nil
	}
	namespace, _, err := o.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", command.Exit(command.ExitUsage, fmt.Errorf("no namespace: %w; give -n", err))
	}
	return namespace, nil
}

// mapping finds a kind as kubectl does: by its plural, singular or short name,
// with the version and group behind it or without.
func (o *explainOptions) mapping(kind string) (*meta.RESTMapping, error) {
	mapper, err := o.flags.ToRESTMapper()
	if err != nil {
		return nil, connect.Failure("ask which kinds there are", err)
	}
	full, resource := schema.ParseResourceArg(strings.ToLower(kind))
	var gvk schema.GroupVersionKind
	if full != nil {
		gvk, err = mapper.KindFor(*full)
	}
	if full == nil || err != nil {
		gvk, err = mapper.KindFor(resource.WithVersion(""))
	}
	if err == nil {
		var mapping *meta.RESTMapping
		if mapping, err = mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err == nil {
			return mapping, nil
		}
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, command.Exit(command.ExitFailure,
			fmt.Errorf("the cluster serves no kind %q; see: kubectl api-resources", kind))
	}
	return nil, connect.Failure("find the kind "+kind, err)
}
