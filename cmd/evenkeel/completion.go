package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// completionPatience is how long a shell waits for the cluster: one that doesn't
// answer completes nothing.
const completionPatience = 3 * time.Second

// addCompletion adds cobra's own command, which by itself prints its help for a
// shell that it doesn't know, and ends with code 0.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			takesCommand(cmd)
		}
	}
}

// names lists what an argument may be, with a short description after a tab.
type names func(ctx context.Context, c client.Reader) ([]string, error)

// completes gives a command's one argument its completion from the cluster.
func completes(cmd *cobra.Command, flags *clusterFlags, lists ...names) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return flags.complete(cmd.Context(), lists...)
	}
}

// completesFlag gives a flag its completion from the cluster.
func completesFlag(cmd *cobra.Command, flag string, flags *clusterFlags, lists ...names) {
	must(cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return flags.complete(cmd.Context(), lists...)
	}))
}

// completesWith completes a flag from a fixed set.
func completesWith(cmd *cobra.Command, flag string, values ...string) {
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}

// must ends a program whose commands are put together wrongly: a flag that isn't
// there is a mistake in the code.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (f *clusterFlags) complete(ctx context.Context, lists ...names) ([]string, cobra.ShellCompDirective) {
	c, err := f.client()
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

func policyNames(ctx context.Context, c client.Reader) ([]string, error) {
	list := &v1alpha1.ClusterRegoPolicyList{}
	return listed(ctx, c, list, func() (out []string) {
		for _, p := range list.Items {
			p.SetDefaults()
			out = append(out, fmt.Sprintf("%s\tPolicy, %s, %s", p.Name, p.Spec.Severity, p.Spec.Title))
		}
		return out
	})
}

func planNames(ctx context.Context, c client.Reader) ([]string, error) {
	list := &v1alpha1.RemediationList{}
	return listed(ctx, c, list, func() (out []string) {
		for _, rem := range list.Items {
			out = append(out, fmt.Sprintf("%s\tRemediation of %s, %s", rem.Name, rem.Spec.Plan.Policy.Name, phaseOf(&rem)))
		}
		return out
	})
}

func breakerNames(ctx context.Context, c client.Reader) ([]string, error) {
	list := &v1alpha1.RemediationBreakerList{}
	return listed(ctx, c, list, func() (out []string) {
		for _, cb := range list.Items {
			state, reason, _ := breakerState(&cb)
			out = append(out, fmt.Sprintf("%s\tRemediationBreaker, %s %s", cb.Name, state, reason))
		}
		return out
	})
}

func namespaceNames(ctx context.Context, c client.Reader) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
	return listed(ctx, c, list, func() (out []string) {
		for _, ns := range list.Items {
			out = append(out, ns.Name)
		}
		return out
	})
}

// listed lists from the API server's cache, which is the fastest answer.
func listed(ctx context.Context, c client.Reader, list client.ObjectList, read func() []string) ([]string, error) {
	if err := c.List(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}); err != nil {
		return nil, err
	}
	return read(), nil
}
