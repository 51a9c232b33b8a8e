// The configuration with which tests run Coscheduling.
#ifndef SCHEDFW_TESTS_SUPPORT_COSCHEDULING_H_
#define SCHEDFW_TESTS_SUPPORT_COSCHEDULING_H_

namespace schedfw::testing {

/// Coscheduling as its own manifests enable it.
inline constexpr const char* kCoschedulingConfig = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
)";

}  // namespace schedfw::testing

#endif  // SCHEDFW_TESTS_SUPPORT_COSCHEDULING_H_
