// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Namespace is the manager's.
	Namespace      = "evenkeel-system"
	serviceAccount = "evenkeel"
	tokenLife      = 24 * time.Hour
)

// Install applies the manifests: API, namespace, permissions, and the permission to write
// workloads. The manager's own Deployment isn't among them: the nodes are fake,
// so it runs as a process.
func (c *Cluster) Install(ctx context.Context) error {
	config := filepath.Join(c.programs.Root, "config")
	for _, args := range [][]string{
		{"apply", "-f", filepath.Join(config, "manager", "namespace.yaml")},
		{"apply", "--server-side", "-k", filepath.Join(config, "crd")},
		{"apply", "-k", filepath.Join(config, "rbac")},
		{"apply", "-f", filepath.Join(config, "components", "write-workloads", "role.yaml")},
	} {
		if err := c.must(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// writeKubeconfig gives the manager its service account's permissions and no more.
func (c *Cluster) writeKubeconfig(ctx context.Context, admin client.Client) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: serviceAccount}}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(tokenLife.Seconds())),
	}}
	if err := admin.SubResource("token").Create(ctx, account, token); err != nil {
		return "", fmt.Errorf("ask for a token of the manager's service account: %w", err)
	}
	kubeconfig, err := clientcmd.LoadFromFile(c.plane.kubeconfig)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", c.plane.kubeconfig, err)
	}
	kubeconfig.AuthInfos = map[string]*clientcmdapi.AuthInfo{serviceAccount: {Token: token.Status.Token}}
	for _, kubeContext := range kubeconfig.Contexts {
		kubeContext.AuthInfo = serviceAccount
	}
	path := filepath.Join(c.work, "manager.kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, nil
}
