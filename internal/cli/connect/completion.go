// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
)

// completionPatience is how long a shell waits for the cluster: one that doesn't
// answer completes nothing.
const completionPatience = 3 * time.Second

// names lists what an argument may be, with a short description after a tab.
type names func(ctx context.Context, c client.Reader) ([]string, error)

// Completes gives a command's one argument its completion from the cluster.
func Completes(cmd *cobra.Command, flags *Flags, lists ...names) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return flags.complete(cmd.Context(), lists...)
	}
}

// CompletesFlag gives a flag its completion from the cluster.
func CompletesFlag(cmd *cobra.Command, flag string, flags *Flags, lists ...names) {
	command.CompletesBy(cmd, flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return flags.complete(cmd.Context(), lists...)
	})
}

func (f *Flags) complete(ctx context.Context, lists ...names) ([]string, cobra.ShellCompDirective) {
	c, err := f.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	var out []string
	for _, list := range lists {
		found, err := list(ctx, c)
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
			continue
		}
		slices.Sort(found)
		out = append(out, found...)
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// PolicyNames lists the policies.
func PolicyNames(ctx context.Context, c client.Reader) ([]string, error) {
	list := &v1alpha1.ClusterRegoPolicyList{}
	return Listed(ctx, c, list, func() (out []string) {
		for _, p := range list.Items {
			p.SetDefaults()
			out = append(out, fmt.Sprintf("%s\tPolicy, %s, %s", p.Name, p.Spec.Severity, p.Spec.Title))
		}
		return out
	})
}

// NamespaceNames lists the namespaces.
func NamespaceNames(ctx context.Context, c client.Reader) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
	return Listed(ctx, c, list, func() (out []string) {
		for _, ns := range list.Items {
			out = append(out, ns.Name)
		}
		return out
	})
}

// Listed lists from the API server's cache, which is the fastest answer.
func Listed(ctx context.Context, c client.Reader, list client.ObjectList, read func() []string) ([]string, error) {
	if err := c.List(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}); err != nil {
		return nil, err
	}
	return read(), nil
}
