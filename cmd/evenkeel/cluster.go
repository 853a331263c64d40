package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/internal/kube"
)

// clusterFlags are kubectl's flags that say which cluster to talk to, and as whom.
type clusterFlags struct{ *genericclioptions.ConfigFlags }

// takesCluster gives a command and its subcommands kubectl's connection flags.
func takesCluster(cmd *cobra.Command) *clusterFlags {
	flags := &clusterFlags{genericclioptions.NewConfigFlags(true)}
	// The kinds are cluster-scoped: a namespace would only mislead.
	flags.Namespace = nil
	flags.AddFlags(cmd.PersistentFlags())
	return flags
}

// client connects to the cluster that the flags, KUBECONFIG or the
// ServiceAccount name.
func (f *clusterFlags) client() (client.WithWatch, error) {
	config, err := f.config()
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
	lists, err := kube.NewLists(scheme, nil, logr.Discard()) // doctor says what is wrong
	if err != nil {
		return nil, err
	}
	config.Wrap(lists.Wrap)
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, &exitError{exitFailure, fmt.Errorf("connect to the cluster: %w", err)}
	}
	return c, nil
}

// untyped connects to the cluster for objects of any kind, and to ask which kinds
// it serves.
func (f *clusterFlags) untyped() (dynamic.Interface, discovery.DiscoveryInterface, error) {
	config, err := f.config()
	if err != nil {
		return nil, nil, err
	}
	config.WarningHandler = rest.NoWarnings{}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, &exitError{exitFailure, fmt.Errorf("connect to the cluster: %w", err)}
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, nil, &exitError{exitFailure, fmt.Errorf("connect to the cluster: %w", err)}
	}
	return objects, kinds, nil
}

func (f *clusterFlags) config() (*rest.Config, error) {
	config, err := f.ToRESTConfig()
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("no cluster to talk to: %w; set --kubeconfig or KUBECONFIG", err)}
	}
	if err := f.named(config); err != nil {
		return nil, err
	}
	config.UserAgent = "evenkeel/" + versionString()
	// A program that ends after a few answers isn't held back here: the API server
	// does that.
	config.QPS, config.Burst = -1, -1
	config.Dial = (&net.Dialer{Timeout: dialPatience, KeepAlive: 30 * time.Second}).DialContext
	// What client-go logs of a failed request is said by the error already.
	klog.SetLogger(logr.Discard())
	return config, nil
}

// dialPatience is how long an API server may take to accept a connection: one that
// nobody routes to never does.
const dialPatience = 8 * time.Second

// named refuses the cluster that client-go takes when nothing names one, which is
// a port of this machine that nobody serves.
func (f *clusterFlags) named(config *rest.Config) error {
	loader := f.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil || config.Host != nobodysServer || raw.CurrentContext+*f.Context+*f.ClusterName+*f.APIServer != "" {
		return nil
	}
	return &exitError{exitUsage, fmt.Errorf("no cluster to talk to: none of these is there and has a current context: %s; set --kubeconfig, KUBECONFIG or --context",
		strings.Join(loader.ConfigAccess().GetLoadingPrecedence(), ", "))}
}

// nobodysServer is what client-go talks to when nothing names a cluster.
const nobodysServer = "http://localhost:8080"

// screen is where a drawing goes: a terminal is drawn over, anything else gets
// lines.
type screen struct {
	out      io.Writer
	terminal bool
	style    display.Style
	height   int
	drawn    int
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out}
	file, isFile := out.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	s.terminal = true
	s.style.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if width, height, err := term.GetSize(int(file.Fd())); err == nil {
		s.style.Width, s.height = width, height
	}
	return s
}

// draw puts lines in the place of those drawn before.
func (s *screen) draw(lines []string) error {
	if s.height > 2 && len(lines) > s.height-1 {
		lines = append(lines[:s.height-2:s.height-2], "…")
	}
	text := ""
	if s.drawn > 0 {
		text = fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn)
	}
	for _, line := range lines {
		text += line + "\n"
	}
	s.drawn = len(lines)
	_, err := io.WriteString(s.out, text)
	return err
}
