# What the reader of a runbook has before the page begins: a cluster with Evenkeel,
# a policy ($POLICY) whose plan ($PLAN) has fixed a few Deployments, and a plan that
# waits for an answer ($WAITING).
make build
make up
export KUBECONFIG=$PWD/.local/$NAME/kubeconfig PATH=$PWD/bin:$PATH
make run >background-manager.log 2>&1 &
MANAGER=$!
kubectl create namespace shop
for name in web cart api; do
  kubectl apply -f - <<EOF
apiVersion: apps/v1
kind: Deployment
metadata: {name: $name, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: $name}}
  template:
    metadata: {labels: {app: $name}}
    spec:
      hostNetwork: true
      containers:
        - name: $name
          image: example.test/$name:1.0
          securityContext: {privileged: true, runAsNonRoot: false}
EOF
done
kubectl wait --for=condition=Available deployment --all -n shop --timeout=60s
until kubectl get validatingwebhookconfiguration evenkeel >/dev/null 2>&1; do kill -0 $MANAGER; sleep 0.2; done
POLICY=privileged-containers
# In force with its mode from the start, so that there is one plan and no dry run.
enforce() {
  bin/evenkeel build policies/$1 >policy.yaml
  kubectl patch --local -f policy.yaml --type=merge -p "$2" -o yaml >patched.yaml
  until kubectl apply -f patched.yaml; do sleep 0.2; done
}
until kubectl apply -f - <<EOF
apiVersion: evenkeel.dev/v1alpha1
kind: RemediationStrategy
metadata: {name: quick}
spec:
  steps: [{targets: 1, soak: 1s}]
  progressDeadline: 1m
EOF
do sleep 0.2; done
enforce security/privileged_containers '{"spec":{"remediation":{"mode":"Automatic","strategyRef":{"name":"quick"}}}}'
enforce security/host_namespaces '{"spec":{"remediation":{"mode":"Manual","strategyRef":{"name":"quick"}}}}'
until PLAN=$(kubectl get remediations -l evenkeel.dev/policy=$POLICY -o name | grep .); do sleep 0.2; done
PLAN=${PLAN##*/}
kubectl wait --for=condition=Complete remediation/$PLAN --timeout=90s
until WAITING=$(kubectl get remediations -l evenkeel.dev/policy=host-namespaces -o name | grep .); do sleep 0.2; done
WAITING=${WAITING##*/}
kubectl wait --for=condition=Approved=false remediation/$WAITING --timeout=60s
