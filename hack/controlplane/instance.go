// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/process"
)

const recordFile = "instance.json"

// ErrNoInstance says that a folder holds no control plane.
var ErrNoInstance = errors.New("no control plane here")

// Instance is a control plane that lives in one folder.
type Instance struct {
	dir      string
	record   record
	launcher *process.Launcher
}

// record is what an instance must know again after a restart of a component.
// The file is also the mark that a folder is ours to delete.
type record struct {
	Bin      string            `json:"bin"`
	Nodes    int               `json:"nodes"`
	Ports    map[Component]int `json:"ports"`
	PeerPort int               `json:"peerPort"`
	// Tied means that `controlplane run` owns the processes.
	Tied bool `json:"tied"`
	// Ready is set once the instance has been usable.
	Ready bool `json:"ready"`
}

// Open reads the instance in dir. The error is [ErrNoInstance] if there's none.
func Open(dir string) (*Instance, error) {
	dir, err := resolve(dir)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: start one with `controlplane up --dir %s`", dir, ErrNoInstance, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read the instance: %w", err)
	}
	i := &Instance{dir: dir, launcher: process.NewDetached()}
	if err := json.Unmarshal(text, &i.record); err != nil {
		return nil, fmt.Errorf("%s: %w: bring it down with `controlplane down --dir %s`",
			filepath.Join(dir, recordFile), err, dir)
	}
	return i, nil
}

// Dir is the folder with all that the instance has written.
func (i *Instance) Dir() string { return i.dir }

// Kubeconfig is the path of a kubeconfig for an administrator.
func (i *Instance) Kubeconfig() string { return filepath.Join(i.dir, "kubeconfig") }

// WebhookClientCA is the authority of the certificate that the API server shows to
// webhooks.
func (i *Instance) WebhookClientCA() string { return i.pki("webhooks/ca.crt") }

// Kubectl is the path of a kubectl of the server's version.
func (i *Instance) Kubectl() string { return filepath.Join(i.record.Bin, "kubectl") }

// Server is the URL of the API server.
func (i *Instance) Server() string { return loopback("https", i.record.Ports[APIServer]) }

// Nodes is the number of fake nodes that the instance was started with.
func (i *Instance) Nodes() int { return i.record.Nodes }

// Log is the path of a component's log.
func (i *Instance) Log(c Component) string {
	return filepath.Join(i.dir, "logs", string(c)+".log")
}

func (i *Instance) pki(file string) string    { return filepath.Join(i.dir, "pki", file) }
func (i *Instance) config(file string) string { return filepath.Join(i.dir, "config", file) }

func (i *Instance) save() error {
	text, err := json.MarshalIndent(i.record, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the instance: %w", err)
	}
	partial := filepath.Join(i.dir, recordFile+".partial")
	if err := writeFile(partial, append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(partial, filepath.Join(i.dir, recordFile)); err != nil {
		return fmt.Errorf("save the instance: %w", err)
	}
	return nil
}

// resolve makes one name of a folder out of all that lead to it, since
// processes are recognised by that name. The folder needn't exist.
func resolve(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the folder %s: %w", dir, err)
	}
	rest := ""
	for at := absolute; ; at = filepath.Dir(at) {
		target, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(target, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return "", fmt.Errorf("find the folder %s: %w", dir, err)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// remove deletes the folder of an instance, and no other folder.
func remove(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into %s: %w", dir, err)
	}
	if len(entries) > 0 {
		_, record := os.Stat(filepath.Join(dir, recordFile))
		_, partial := os.Stat(filepath.Join(dir, recordFile+".partial"))
		if record != nil && partial != nil {
			return fmt.Errorf("%s has files in it and isn't the folder of a control plane: choose another with --dir",
				dir)
		}
	}
	// The mark goes last, so that a removal cut short can be taken up again.
	for _, entry := range entries {
		if entry.Name() == recordFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("remove the instance: %w", err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the instance: %w", err)
	}
	return nil
}
