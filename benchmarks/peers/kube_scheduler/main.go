// Runs the real kube-scheduler in process on JSON input and prints what it decides, or times it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	core "k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	cfgscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type list struct {
	Items []json.RawMessage `json:"items"`
}

type cluster struct {
	nodes   []*v1.Node
	bound   []*v1.Pod
	pending []*v1.Pod
	objects []apiruntime.Object
	classes map[string]*schedulingv1.PriorityClass
}

// must ends the answer that is being made: the panic is caught where the answer is written.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func load(path string) *cluster {
	b, err := os.ReadFile(path)
	must(err)
	var l list
	must(json.Unmarshal(b, &l))
	c := &cluster{classes: map[string]*schedulingv1.PriorityClass{}}
	dec := scheme.Codecs.UniversalDeserializer()
	for _, raw := range l.Items {
		obj, _, err := dec.Decode(raw, nil, nil)
		must(err)
		switch o := obj.(type) {
		case *v1.Node:
			corev1.SetObjectDefaults_Node(o)
			c.nodes = append(c.nodes, o)
		case *v1.Namespace:
			corev1.SetObjectDefaults_Namespace(o)
		case *v1.Pod:
			if o.Namespace == "" {
				o.Namespace = "default"
			}
			if o.UID == "" {
				o.UID = types.UID(fmt.Sprintf("%s/%s", o.Namespace, o.Name))
			}
			if o.Status.Phase == v1.PodSucceeded || o.Status.Phase == v1.PodFailed {
				continue // the scheduler's informer selects these out
			}
			obj = c.create(o)
		case *schedulingv1.PriorityClass:
			c.classes[o.Name] = o
		}
		c.objects = append(c.objects, obj)
	}
	for _, o := range c.objects {
		if p, ok := o.(*v1.Pod); ok {
			c.prioritize(p)
			tolerate(p)
			if p.Spec.NodeName != "" {
				c.bound = append(c.bound, p)
			} else if p.DeletionTimestamp == nil {
				c.pending = append(c.pending, p)
			}
		}
	}
	return c
}

// create does to a pod what the API server does when it is created: defaults, merged label keys, pod-level resources.
// All of it changes nothing on a pod that has been through it. The status of the file is kept.
func (c *cluster) create(p *v1.Pod) *v1.Pod {
	status := p.Status.DeepCopy()
	corev1.SetObjectDefaults_Pod(p)
	var internal core.Pod
	must(corev1.Convert_v1_Pod_To_core_Pod(p, &internal, nil))
	podregistry.Strategy.PrepareForCreate(context.Background(), &internal)
	var out v1.Pod
	must(corev1.Convert_core_Pod_To_v1_Pod(&internal, &out, nil))
	out.TypeMeta = p.TypeMeta
	out.Status = *status
	// It is stored and read again, which makes quantities canonical. Without this, PodRequests adds the overhead to a
	// pod-level request like 1.5Gi itself, each time it is called.
	text, err := json.Marshal(&out)
	must(err)
	var stored v1.Pod
	must(json.Unmarshal(text, &stored))
	return &stored
}

// tolerate does what the DefaultTolerationSeconds admission plugin does.
func tolerate(p *v1.Pod) {
	says := func(key string) bool {
		for _, t := range p.Spec.Tolerations {
			if (t.Key == key || t.Key == "") && (t.Effect == v1.TaintEffectNoExecute || t.Effect == "") {
				return true
			}
		}
		return false
	}
	seconds := int64(300)
	var missing []v1.Toleration
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		if !says(key) {
			missing = append(missing, v1.Toleration{Key: key, Operator: v1.TolerationOpExists,
				Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
	}
	p.Spec.Tolerations = append(p.Spec.Tolerations, missing...)
}

// prioritize does what the Priority admission plugin does.
func (c *cluster) prioritize(p *v1.Pod) {
	name := p.Spec.PriorityClassName
	var value int32
	var policy *v1.PreemptionPolicy
	switch cl := c.classes[name]; {
	case cl != nil:
		value, policy = cl.Value, cl.PreemptionPolicy
	case name == "system-cluster-critical":
		value = 2000000000
	case name == "system-node-critical":
		value = 2000001000
	case name != "" && p.Spec.Priority == nil:
		must(fmt.Errorf("pod %s/%s: no PriorityClass %q", p.Namespace, p.Name, name))
	case name == "":
		found := false
		for _, cl := range c.classes {
			if cl.GlobalDefault && (!found || cl.Value < value) {
				found, value, policy = true, cl.Value, cl.PreemptionPolicy
			}
		}
	}
	if p.Spec.Priority == nil {
		p.Spec.Priority = &value
	}
	if p.Spec.PreemptionPolicy == nil {
		p.Spec.PreemptionPolicy = policy
	}
}

func loadConfig(path string) (*config.KubeSchedulerConfiguration, error) {
	if path == "" {
		return latest.Default()
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	obj, gvk, err := cfgscheme.Codecs.UniversalDecoder().Decode(b, nil, nil)
	if err != nil {
		return nil, err
	}
	c, ok := obj.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("not a KubeSchedulerConfiguration: %s", gvk)
	}
	c.TypeMeta.APIVersion = gvk.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(c); err != nil {
		return nil, err
	}
	return c, nil
}

// batch answers the cases under dir, several at once: starting a scheduler is mostly waiting. The answer to case c goes
// to out/c.json, or to dir/c/expected.json if there is no out. Of n shards only the given one is answered.
func batch(dir, out string, shard, shards, atOnce int, s settings) {
	entries, err := os.ReadDir(dir)
	must(err)
	names := make(chan string)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for name := range names {
				p := filepath.Join(dir, name)
				value := answer(p, s)
				target := filepath.Join(out, name+".json")
				b, err := json.Marshal(value)
				if out == "" {
					target = filepath.Join(p, "expected.json")
					b, err = json.MarshalIndent(value, "", " ")
				}
				must(err)
				must(os.WriteFile(target, append(b, '\n'), 0o644))
			}
		})
	}
	number := 0
	for _, d := range entries {
		if _, err := os.Stat(filepath.Join(dir, d.Name(), "mode")); err != nil {
			continue
		}
		if number++; number%shards == shard {
			names <- d.Name()
		}
	}
	close(names)
	workers.Wait()
}

// answer answers the case in folder p: what run returns, or {"error": message}.
func answer(p string, s settings) (out any) {
	defer func() {
		if r := recover(); r != nil {
			out = map[string]string{"error": fmt.Sprint(r)}
		}
	}()
	mode, err := os.ReadFile(filepath.Join(p, "mode"))
	must(err)
	configPath := filepath.Join(p, "config.yaml")
	if _, err := os.Stat(configPath); err != nil {
		configPath = ""
	}
	cfg, err := loadConfig(configPath)
	must(err)
	c := &cluster{}
	if _, err := os.Stat(filepath.Join(p, "cluster.json")); err == nil {
		c = load(filepath.Join(p, "cluster.json"))
	}
	return run(strings.TrimSpace(string(mode)), c, cfg, s)
}

type filterOut struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}
type podOut struct {
	Pod       string                      `json:"pod"`
	PreEnq    *filterOut                  `json:"preEnqueue,omitempty"`
	PreFilter *filterOut                  `json:"preFilter,omitempty"`
	Nodes     []string                    `json:"preFilterNodes,omitempty"`
	Filter    map[string]filterOut        `json:"filter,omitempty"` // rejected nodes only
	Feasible  []string                    `json:"feasible,omitempty"`
	PreScore  *filterOut                  `json:"preScore,omitempty"`
	Raw       map[string]map[string]int64 `json:"raw,omitempty"`      // plugin -> node -> score
	Weighted  map[string]map[string]int64 `json:"weighted,omitempty"` // plugin -> node -> normalized*weight
	Total     map[string]int64            `json:"total,omitempty"`
	Best      []string                    `json:"best,omitempty"`
	Preempt   *preemptOut                 `json:"preemption,omitempty"`
}
type preemptOut struct {
	Status    filterOut `json:"status"`
	Nominated string    `json:"nominatedNode,omitempty"`
	Victims   []string  `json:"victims,omitempty"`
	// Upstream starts at a random node and picks among equals in map order. If that gave different answers, the status
	// is {"code": "Tie"}, and these are the answers seen.
	Ties []preemptOut `json:"ties,omitempty"`
}

func st(s *fwk.Status) filterOut {
	return filterOut{Code: s.Code().String(), Plugin: s.Plugin(), Reasons: s.Reasons()}
}

type noRecorder struct{}

func (noRecorder) Eventf(regarding apiruntime.Object, related apiruntime.Object, eventtype, reason, action, note string, args ...interface{}) {
}
func (r noRecorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }

// settings are the command line's.
type settings struct {
	parallelism int
	percentage  int32 // percentageOfNodesToScore; below 0: the configuration's
	repeats     int   // how often a preemption is asked for
}

type env struct {
	ctx     context.Context
	s       *scheduler.Scheduler
	snap    *internalcache.Snapshot
	logger  klog.Logger
	stop    context.CancelFunc
	mu      sync.Mutex
	victims []string // pods that were to be deleted since it was last emptied
}

func start(c *cluster, cfg *config.KubeSchedulerConfiguration, inform bool, set settings) *env {
	ctx, cancel := context.WithCancel(context.Background())
	var objs []apiruntime.Object
	if inform {
		objs = c.objects
	}
	client := fake.NewClientset(objs...)
	e := &env{ctx: ctx, stop: cancel}
	// Preemption deletes its victims and patches pods: it is noted and not done, so the next pod finds all as it was.
	client.PrependReactor("delete", "pods", func(action ktesting.Action) (bool, apiruntime.Object, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.victims = append(e.victims, action.GetNamespace()+"/"+action.(ktesting.DeleteAction).GetName())
		return true, nil, nil
	})
	client.PrependReactor("patch", "pods", func(ktesting.Action) (bool, apiruntime.Object, error) {
		return true, &v1.Pod{}, nil
	})
	factory := informers.NewSharedInformerFactory(client, 0)
	snap := internalcache.NewEmptySnapshot()
	pct := int32(100)
	if cfg.PercentageOfNodesToScore != nil {
		pct = *cfg.PercentageOfNodesToScore
	}
	if set.percentage >= 0 {
		pct = set.percentage
	}
	opts := []scheduler.Option{
		scheduler.WithProfiles(cfg.Profiles...), scheduler.WithNodeInfoSnapshot(snap),
		scheduler.WithPercentageOfNodesToScore(&pct), scheduler.WithParallelism(int32(set.parallelism)),
		scheduler.WithComponentConfigVersion(cfg.TypeMeta.APIVersion),
	}
	s, err := scheduler.New(ctx, client, factory, nil, func(string) events.EventRecorderLogger { return noRecorder{} }, opts...)
	must(err)
	logger := klog.FromContext(ctx)
	if inform {
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		must(s.WaitForHandlersSync(ctx))
	} else {
		for _, n := range c.nodes {
			s.Cache.AddNode(logger, n)
		}
		for _, p := range c.bound {
			must(s.Cache.AddPod(logger, p))
		}
	}
	must(s.Cache.UpdateSnapshot(logger, snap))
	e.s, e.snap, e.logger = s, snap, logger
	return e
}

func (e *env) framework(pod *v1.Pod) framework.Framework {
	f, ok := e.s.Profiles[pod.Spec.SchedulerName]
	if !ok {
		return nil
	}
	return f
}

// explain runs one pod's cycle on the snapshot, over every node, and reports each step. If no node is left, it asks
// for a preemption that many times.
func (e *env) explain(pod *v1.Pod, preemptions int) podOut {
	out := podOut{Pod: pod.Namespace + "/" + pod.Name}
	f := e.framework(pod)
	if f == nil {
		out.PreFilter = &filterOut{Code: "NoProfile", Reasons: []string{pod.Spec.SchedulerName}}
		return out
	}
	for _, pl := range f.PreEnqueuePlugins() {
		if s := pl.PreEnqueue(e.ctx, pod); !s.IsSuccess() {
			o := st(s.WithPlugin(pl.Name()))
			out.PreEnq = &o
			return out
		}
	}
	state := framework.NewCycleState()
	nodes, err := e.snap.NodeInfos().List()
	must(err)
	res, s, _ := f.RunPreFilterPlugins(e.ctx, state, pod)
	statuses := framework.NewDefaultNodeToStatus()
	var feasible []fwk.NodeInfo
	if !s.IsSuccess() {
		o := st(s)
		out.PreFilter = &o
		statuses.SetAbsentNodesStatus(s)
	} else {
		if !res.AllNodes() {
			out.Nodes = res.NodeNames.UnsortedList()
			sort.Strings(out.Nodes)
			statuses.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) didn't satisfy plugin(s)"))
		}
		out.Filter = map[string]filterOut{}
		for _, n := range nodes {
			name := n.Node().Name
			if !res.AllNodes() && !res.NodeNames.Has(name) {
				continue
			}
			s := f.RunFilterPluginsWithNominatedPods(e.ctx, state, pod, n)
			if s.IsSuccess() {
				feasible = append(feasible, n)
				out.Feasible = append(out.Feasible, name)
			} else {
				out.Filter[name] = st(s)
				statuses.Set(name, s)
			}
		}
		sort.Strings(out.Feasible)
	}
	if len(feasible) == 0 {
		for range preemptions {
			e.victims = nil
			r, s := f.RunPostFilterPlugins(e.ctx, state, pod, statuses)
			po := preemptOut{Status: st(s), Victims: e.victims}
			if r != nil && r.NominatingInfo != nil {
				po.Nominated = r.NominatedNodeName
			}
			sort.Strings(po.Victims)
			out.addPreemption(po)
		}
		return out
	}
	if s := f.RunPreScorePlugins(e.ctx, state, pod, feasible); !s.IsSuccess() {
		o := st(s)
		out.PreScore = &o
		return out
	}
	scores, s := f.RunScorePlugins(e.ctx, state, pod, feasible)
	if !s.IsSuccess() {
		o := st(s)
		out.PreScore = &o
		return out
	}
	out.Raw, out.Weighted, out.Total = map[string]map[string]int64{}, map[string]map[string]int64{}, map[string]int64{}
	best := int64(-1)
	for _, n := range scores {
		for _, r := range n.RawScores {
			if out.Raw[r.Name] == nil {
				out.Raw[r.Name] = map[string]int64{}
			}
			out.Raw[r.Name][n.Name] = r.Score
		}
		for _, r := range n.Scores {
			if out.Weighted[r.Name] == nil {
				out.Weighted[r.Name] = map[string]int64{}
			}
			out.Weighted[r.Name][n.Name] = r.Score
		}
		out.Total[n.Name] = n.TotalScore
		if n.TotalScore > best {
			best, out.Best = n.TotalScore, nil
		}
		if n.TotalScore == best {
			out.Best = append(out.Best, n.Name)
		}
	}
	sort.Strings(out.Best)
	return out
}

// addPreemption notes one of several answers.
func (p *podOut) addPreemption(o preemptOut) {
	same := func(a preemptOut) bool {
		return a.Status.Code == o.Status.Code && a.Nominated == o.Nominated &&
			slices.Equal(a.Status.Reasons, o.Status.Reasons) && slices.Equal(a.Victims, o.Victims)
	}
	switch {
	case p.Preempt == nil:
		p.Preempt = &o
	case p.Preempt.Ties == nil && !same(*p.Preempt):
		p.Preempt = &preemptOut{Status: filterOut{Code: "Tie"}, Ties: []preemptOut{*p.Preempt, o}}
	case p.Preempt.Ties != nil && !slices.ContainsFunc(p.Preempt.Ties, same):
		p.Preempt.Ties = append(p.Preempt.Ties, o)
	}
}

type placement struct {
	Pod  string `json:"pod"`
	Node string `json:"node"` // "" = unschedulable
}

// place schedules the pending pods one after another (priority, then input order), assuming each; ties go to the
// node whose name sorts first.
func (e *env) place(pods []*v1.Pod) []placement {
	order := append([]*v1.Pod{}, pods...)
	prio := func(p *v1.Pod) int32 {
		if p.Spec.Priority != nil {
			return *p.Spec.Priority
		}
		return 0
	}
	sort.SliceStable(order, func(i, j int) bool { return prio(order[i]) > prio(order[j]) })
	var out []placement
	for _, p := range order {
		r := e.explain(p, 0)
		pl := placement{Pod: r.Pod}
		if len(r.Best) > 0 {
			pl.Node = r.Best[0]
			q := p.DeepCopy()
			q.Spec.NodeName = pl.Node
			must(e.s.Cache.AssumePod(e.logger, q))
			must(e.s.Cache.UpdateSnapshot(e.logger, e.snap))
		}
		out = append(out, pl)
	}
	return out
}

type cycleOut struct {
	Pod       string `json:"pod"`
	Evaluated int    `json:"evaluated"`
	Feasible  int    `json:"feasible"`
}

// cycles runs SchedulePod itself, so node sampling and the moving start index act; nothing is assumed.
func (e *env) cycles(pods []*v1.Pod) []cycleOut {
	var out []cycleOut
	for _, p := range pods {
		if e.framework(p) == nil {
			continue
		}
		pi, err := framework.NewPodInfo(p)
		must(err)
		r, err := e.s.SchedulePod(e.ctx, e.framework(p), framework.NewCycleState(), &framework.QueuedPodInfo{PodInfo: pi})
		o := cycleOut{p.Namespace + "/" + p.Name, r.EvaluatedNodes, r.FeasibleNodes}
		if fe, ok := err.(*framework.FitError); ok {
			o.Evaluated = fe.Diagnosis.NodeToStatus.Len()
		} else if !errors.Is(err, scheduler.ErrNoNodesAvailable) {
			must(err)
		}
		out = append(out, o)
	}
	return out
}

type loopOut struct {
	Bound   []string          `json:"bound"`   // pods that had a node when all was quiet
	Pending map[string]string `json:"pending"` // pod -> message of its PodScheduled condition
	Deleted []string          `json:"deleted"` // preempted
}

// loop lets the whole scheduler run on the pods until nothing changes for a while: queue, backoff, gangs,
// preemption, binding. Nodes are not reported, since upstream breaks ties by arrival order of goroutines.
func loop(c *cluster, cfg *config.KubeSchedulerConfiguration, par int) loopOut {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(c.objects...)
	changes := make(chan struct{}, 1<<16)
	client.PrependReactor("create", "pods", func(action ktesting.Action) (bool, apiruntime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		b := action.(ktesting.CreateAction).GetObject().(*v1.Binding)
		gvr := v1.SchemeGroupVersion.WithResource("pods")
		o, err := client.Tracker().Get(gvr, b.Namespace, b.Name)
		if err != nil {
			return true, nil, err
		}
		p := o.(*v1.Pod).DeepCopy()
		p.Spec.NodeName = b.Target.Name
		changes <- struct{}{}
		return true, b, client.Tracker().Update(gvr, p, b.Namespace)
	})
	client.PrependReactor("delete", "pods", func(ktesting.Action) (bool, apiruntime.Object, error) {
		changes <- struct{}{}
		return false, nil, nil
	})
	factory := informers.NewSharedInformerFactory(client, 0)
	pct := int32(100)
	s, err := scheduler.New(ctx, client, factory, nil, func(string) events.EventRecorderLogger { return noRecorder{} },
		scheduler.WithProfiles(cfg.Profiles...), scheduler.WithPercentageOfNodesToScore(&pct), scheduler.WithParallelism(int32(par)),
		scheduler.WithPodInitialBackoffSeconds(1), scheduler.WithPodMaxBackoffSeconds(1))
	must(err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	must(s.WaitForHandlersSync(ctx))
	go s.Run(ctx)
	for quiet := false; !quiet; {
		select {
		case <-changes:
		case <-time.After(3500 * time.Millisecond):
			quiet = true
		}
	}
	out := loopOut{Pending: map[string]string{}}
	l, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	must(err)
	left := map[string]bool{}
	for _, p := range l.Items {
		name := p.Namespace + "/" + p.Name
		left[name] = true
		if p.Spec.NodeName != "" {
			out.Bound = append(out.Bound, name)
			continue
		}
		out.Pending[name] = ""
		for _, cond := range p.Status.Conditions {
			if cond.Type == v1.PodScheduled {
				out.Pending[name] = cond.Message
			}
		}
	}
	for _, p := range append(append([]*v1.Pod{}, c.bound...), c.pending...) {
		if n := p.Namespace + "/" + p.Name; !left[n] {
			out.Deleted = append(out.Deleted, n)
		}
	}
	sort.Strings(out.Bound)
	sort.Strings(out.Deleted)
	return out
}

type benchOut struct {
	Pods       int     `json:"pods"`
	Bound      int     `json:"bound"`
	Batched    int64   `json:"batched"`
	Nodes      int     `json:"nodes"`
	Percentage int     `json:"percentageOfNodesToScore"`
	Par        int     `json:"parallelism"`
	Procs      int     `json:"gomaxprocs"`
	TotalS     float64 `json:"total_s"`
	PodsPerS   float64 `json:"pods_per_s"`
	MeanUs     float64 `json:"mean_us"`
	P50Us      float64 `json:"p50_us"`
	P99Us      float64 `json:"p99_us"`
	MaxUs      float64 `json:"max_us"`
}

// bench times the scheduling cycle itself (snapshot update, SchedulePod, assume); no API server, no queue.
func (e *env) bench(pods []*v1.Pod, nodes int, set settings) benchOut {
	lat := make([]float64, 0, len(pods))
	bound := 0
	runtime.GC()
	t0 := time.Now()
	for range pods {
		t := time.Now()
		ent, err := e.s.NextEntity(e.logger) // popping counts the cycle and signs the pod, which batching needs
		must(err)
		q, ok := ent.(*framework.QueuedPodInfo)
		if !ok {
			must(fmt.Errorf("popped a %T", ent))
		}
		p := q.Pod
		must(e.s.Cache.UpdateSnapshot(e.logger, e.snap))
		r, err := e.s.SchedulePod(e.ctx, e.framework(p), framework.NewCycleState(), q)
		if err == nil {
			c := p.DeepCopy()
			c.Spec.NodeName = r.SuggestedHost
			must(e.s.Cache.AssumePod(e.logger, c))
			bound++
		}
		e.s.SchedulingQueue.Done(p.UID)
		lat = append(lat, float64(time.Since(t).Nanoseconds())/1e3)
	}
	total := time.Since(t0).Seconds()
	batched := int64(0)
	for _, f := range e.s.Profiles {
		if b, ok := f.(interface{ TotalBatchedPods() int64 }); ok {
			batched += b.TotalBatchedPods()
		}
	}
	sort.Float64s(lat)
	sum := 0.0
	for _, x := range lat {
		sum += x
	}
	n := len(lat)
	return benchOut{n, bound, batched, nodes, int(set.percentage), set.parallelism, runtime.GOMAXPROCS(0), total, float64(n) / total, sum / float64(n), lat[n/2], lat[n*99/100], lat[n-1]}
}

func main() {
	mode := flag.String("mode", "explain", "explain, preempt, place, cycle, loop, config, quantity or bench")
	in := flag.String("in", "", "cluster: a List of nodes, pods, ... as JSON")
	cfgPath := flag.String("config", "", "KubeSchedulerConfiguration")
	gates := flag.String("gates", "SchedulerAsyncPreemption=false", "feature gates")
	par := flag.Int("parallelism", 16, "parallelism")
	pct := flag.Int("pct", 100, "percentageOfNodesToScore (0: adaptive, -1: from the configuration)")
	repeats := flag.Int("repeats", 5, "how often to ask for a preemption, which upstream answers partly at random")
	dir := flag.String("dir", "", "a folder of cases: cluster.json, config.yaml if any, mode; writes expected.json into each")
	out := flag.String("out", "", "with -dir: the folder for the answers instead, a file CASE.json each")
	shard := flag.String("shard", "0/1", "with -dir: answer only every N-th case, from the I-th: I/N")
	atOnce := flag.Int("at-once", 8, "with -dir: how many cases are answered at the same time")
	flag.Parse()
	set := settings{*par, int32(*pct), *repeats}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintln(os.Stderr, "kube_scheduler:", r)
			os.Exit(1)
		}
	}()
	if *gates != "" {
		must(utilfeature.DefaultMutableFeatureGate.Set(*gates))
	}
	if *mode == "quantity" {
		quantities()
		return
	}
	if *dir != "" {
		var i, n int
		_, err := fmt.Sscanf(*shard, "%d/%d", &i, &n)
		must(err)
		batch(*dir, *out, i, n, *atOnce, set)
		return
	}
	cfg, err := loadConfig(*cfgPath)
	must(err)
	c := load(*in)
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", " ")
	if *mode == "bench" {
		e := start(c, cfg, true, set) // the informers fill the queue
		must(enc.Encode(e.bench(c.pending, len(c.nodes), set)))
		return
	}
	must(enc.Encode(run(*mode, c, cfg, set)))
}

// quantities answers one string a line of standard input.
func quantities() {
	enc := json.NewEncoder(os.Stdout)
	sc := bufio.NewScanner(os.Stdin)
	for sc.Scan() {
		q, err := resource.ParseQuantity(sc.Text())
		if err != nil {
			must(enc.Encode(map[string]any{"in": sc.Text(), "error": err.Error()}))
			continue
		}
		must(enc.Encode(map[string]any{"in": sc.Text(), "canonical": q.String(), "value": q.Value(), "milli": q.MilliValue()}))
	}
}

func run(mode string, c *cluster, cfg *config.KubeSchedulerConfiguration, set settings) any {
	switch mode {
	case "loop":
		return loop(c, cfg, set.parallelism)
	case "cycle":
		set.percentage = -1 // the configuration's
		set.parallelism = 1
	}
	e := start(c, cfg, mode != "config", set)
	defer e.stop()
	switch mode {
	case "preempt":
		out := []podOut{}
		for _, p := range c.pending {
			o := e.explain(p, set.repeats)
			o.Raw, o.Weighted, o.Total = nil, nil, nil
			out = append(out, o)
		}
		return out
	case "explain":
		out := []podOut{}
		for _, p := range c.pending {
			out = append(out, e.explain(p, 0))
		}
		return out
	case "place":
		return e.place(c.pending)
	case "cycle":
		return e.cycles(c.pending)
	case "config":
		out := map[string]any{}
		for name, f := range e.s.Profiles {
			out[name] = f.ListPlugins()
		}
		return out
	}
	must(fmt.Errorf("no such mode: %s", mode))
	return nil
}
