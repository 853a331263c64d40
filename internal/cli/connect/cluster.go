// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/version"
)

// Flags are kubectl's flags that say which cluster to talk to, and as whom.
type Flags struct{ *genericclioptions.ConfigFlags }

// TakesCluster gives a command and its subcommands kubectl's connection flags.
func TakesCluster(cmd *cobra.Command) *Flags {
	flags := &Flags{genericclioptions.NewConfigFlags(true)}
	// The kinds are cluster-scoped: a namespace would only mislead.
	flags.Namespace = nil
	flags.AddFlags(cmd.PersistentFlags())
	return flags
}

// Client connects to the cluster that the flags, KUBECONFIG or the
// ServiceAccount name.
func (f *Flags) Client() (client.WithWatch, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := authorizationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := rbacv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	lists, err := kube.NewLists(scheme, nil, logr.Discard()) // doctor says what is wrong
	if err != nil {
		return nil, err
	}
	config.Wrap(lists.Wrap)
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, command.Exit(command.ExitFailure, fmt.Errorf("connect to the cluster: %w", err))
	}
	return c, nil
}

// Untyped connects to the cluster for objects of any kind, and to ask which kinds
// it serves.
func (f *Flags) Untyped() (dynamic.Interface, discovery.DiscoveryInterface, error) {
	config, err := f.Config()
	if err != nil {
		return nil, nil, err
	}
	config.WarningHandler = rest.NoWarnings{}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, command.Exit(command.ExitFailure, fmt.Errorf("connect to the cluster: %w", err))
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, nil, command.Exit(command.ExitFailure, fmt.Errorf("connect to the cluster: %w", err))
	}
	return objects, kinds, nil
}

// Config is how the cluster is reached that the flags, KUBECONFIG or the
// ServiceAccount name.
func (f *Flags) Config() (*rest.Config, error) {
	config, err := f.ToRESTConfig()
	if err != nil && f.isNamed() {
		return nil, command.Exit(command.ExitUsage, fmt.Errorf(
			"%w: correct --cluster or --context; kubectl config get-contexts lists what the kubeconfig has", err))
	}
	if err != nil {
		return nil, command.Exit(command.ExitUsage,
			fmt.Errorf("no cluster to talk to: %w; set --kubeconfig or KUBECONFIG", err))
	}
	if err := f.named(config); err != nil {
		return nil, err
	}
	config.UserAgent = "evenkeel/" + version.String()
	// A program that ends after a few answers isn't held back here: the API server
	// does that.
	config.QPS, config.Burst = -1, -1
	config.Dial = (&net.Dialer{Timeout: dialPatience, KeepAlive: 30 * time.Second}).DialContext
	// What client-go logs of a failed request is said by the error already.
	klog.SetLogger(logr.Discard())
	return config, nil
}

func (f *Flags) isNamed() bool { return *f.ClusterName+*f.Context != "" }

// IsRefused says whether a cluster was named by the flags that the kubeconfig hasn't got: nothing may go on as if
// none had been.
func (f *Flags) IsRefused() bool {
	_, err := f.ToRESTConfig()
	return err != nil && f.isNamed()
}

// dialPatience is how long an API server may take to accept a connection: one that
// nobody routes to never does.
const dialPatience = 8 * time.Second

// named refuses the cluster that client-go takes when nothing names one, which is
// a port of this machine that nobody serves.
func (f *Flags) named(config *rest.Config) error {
	loader := f.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil || config.Host != nobodysServer || raw.CurrentContext+*f.Context+*f.ClusterName+*f.APIServer != "" {
		return nil
	}
	return command.Exit(command.ExitUsage, fmt.Errorf("no cluster to talk to: none of these is there and has a "+
		"current context: %s; set --kubeconfig, KUBECONFIG or --context",
		strings.Join(loader.ConfigAccess().GetLoadingPrecedence(), ", ")))
}

// nobodysServer is what client-go talks to when nothing names a cluster.
const nobodysServer = "http://localhost:8080"
