// SPDX-License-Identifier: Apache-2.0

package policies_test

// wholeObjects have what the rules of hack/bench read.
const wholeObjects = `apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  labels: {app: web, team: red, tier: front, app.kubernetes.io/name: web}
  annotations: {example.com/owner: jane@example.com, container.apparmor.security.beta.kubernetes.io/c: unconfined}
spec:
  hostPID: true
  hostNetwork: true
  automountServiceAccountToken: true
  priorityClassName: system
  securityContext:
    {runAsUser: 0, fsGroup: 0, sysctls: [{name: kernel.msgmax, value: "1"}], seLinuxOptions: {level: s0}}
  volumes: [{name: a, hostPath: {path: /etc}}, {name: b, flexVolume: {driver: x/y}}, {name: c, emptyDir: {}}]
  tolerations: [{key: example.com/spot, operator: Exists, effect: NoSchedule}]
  initContainers: [{name: init, image: "docker.io/library/busybox:latest"}]
  containers:
    - name: c
      image: registry.example.com/shop/web:1
      env: [{name: DB_PASSWORD, value: x}]
      ports: [{containerPort: 80, hostPort: 80}]
      resources: {limits: {cpu: "4", memory: 8Gi}, requests: {cpu: 100m, memory: 64Mi, ephemeral-storage: 1Gi}}
      securityContext:
        {privileged: true, allowPrivilegeEscalation: true, procMount: Unmasked, capabilities: {add: [ALL]}}
      volumeMounts: [{name: a, mountPath: /etc}]
      livenessProbe: {httpGet: {path: /, port: 80}}
    - {name: d, image: "quay.io/x/y@sha256:abc", resources: {limits: {memory: 1.5Gi}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop, labels: {team: "42"}}
data: {count: "5", settings: '{"replicas": 0}', address: 10.1.2.3}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team-b, labels: {app: web, owner: red, tier: web}}
spec: {ports: [{port: 80}, {port: 22}, {port: 9000}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: team-c, labels: {team: blue, tier: web}}
spec: {ingressClassName: none, rules: [{host: a.example.com}, {host: b.example.com}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: other, namespace: pay}
spec: {rules: [{host: a.example.com}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: all, labels: {team: production, stage: production}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: web, stage: production}}
`
