// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// Config says how a manager runs.
type Config struct {
	// Binary is the manager's program.
	Binary string
	// Dir takes its kubeconfig, certificates and log.
	Dir string
	// Server is the URL that the manager takes for the API server's. It needs no
	// credentials there.
	Server string
	// Kubeconfig is the path of a kubeconfig, instead of Server.
	Kubeconfig string
	// Args are further flags.
	Args []string
	// Env are further variables of its environment, as NAME=VALUE.
	Env []string
}

// Manager is a manager of Evenkeel as a child process.
type Manager struct {
	*Daemon
}

// New chooses free ports and writes the kubeconfig; it starts nothing.
func New(config Config) (*Manager, error) {
	ports, err := FreePorts(2)
	if err != nil {
		return nil, err
	}
	kubeconfig := config.Kubeconfig
	if kubeconfig == "" {
		kubeconfig = filepath.Join(config.Dir, "kubeconfig")
		if err := WriteKubeconfig(kubeconfig, config.Server); err != nil {
			return nil, err
		}
	}
	return &Manager{Daemon: NewDaemon(DaemonConfig{
		Name: "the manager", Path: config.Binary, Args: config.args(kubeconfig, ports[0], ports[1]),
		Env:      config.Env,
		Log:      filepath.Join(config.Dir, "manager.log"),
		ReadyURL: fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1]),
	})}, nil
}

func (c Config) args(kubeconfig string, webhook, probe int) []string {
	return append([]string{
		"manager",
		"--kubeconfig", kubeconfig,
		"--namespace", "evenkeel-system",
		"--webhook-port", strconv.Itoa(webhook),
		"--webhook-url", fmt.Sprintf("https://localhost:%d", webhook),
		"--cert-dir", filepath.Join(c.Dir, "certs"),
		"--scan-status-interval", "1s",
		"--health-probe-bind-address", fmt.Sprintf("127.0.0.1:%d", probe),
		"--metrics-bind-address", "0",
		"--source-dir", filepath.Join(c.Dir, "sources"),
	}, c.Args...)
}
