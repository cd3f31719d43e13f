#include "vellum/backends/cuda/status.h"

#include <string>

#include "gtest/gtest.h"

namespace vellum::cuda {
namespace {

TEST(StatusOfCuda, KeepsApartWhatTheCallersTreatDifferently) {
  EXPECT_TRUE(status_of(cudaSuccess).ok());
  EXPECT_EQ(status_of(cudaErrorMemoryAllocation).code, StatusCode::kOutOfMemory);
  EXPECT_EQ(status_of(cudaErrorNotReady).code, StatusCode::kNotReady);
  EXPECT_EQ(status_of(cudaErrorInvalidValue).code, StatusCode::kInvalidArgument);
  EXPECT_EQ(status_of(cudaErrorInvalidDevice).code, StatusCode::kInvalidArgument);
  EXPECT_EQ(status_of(cudaErrorNotSupported).code, StatusCode::kUnsupported);
  for (const cudaError_t fault :
       {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorAssert, cudaErrorECCUncorrectable, cudaErrorNoDevice,
        cudaErrorInsufficientDriver, cudaErrorUnknown})
    EXPECT_EQ(status_of(fault).code, StatusCode::kDeviceError) << cudaGetErrorName(fault);
}

TEST(StatusOfCuda, SaysWhatTheRuntimeSays) {
  EXPECT_STREQ(status_of(cudaErrorIllegalAddress).message, "an illegal memory access was encountered");
}

TEST(StatusOfCuda, NamesTheMendWhereSomethingIsMissing) {
  EXPECT_NE(std::string(status_of(cudaErrorInsufficientDriver).message).find("install"), std::string::npos);
  EXPECT_NE(std::string(status_of(cudaErrorNoDevice).message).find("CUDA_VISIBLE_DEVICES"), std::string::npos);
  EXPECT_NE(std::string(status_of(cudaErrorNoKernelImageForDevice).message).find("bazel/cuda:architectures"),
            std::string::npos);
}

TEST(StatusOfCublas, KeepsApartWhatTheCallersTreatDifferently) {
  EXPECT_TRUE(status_of(CUBLAS_STATUS_SUCCESS).ok());
  EXPECT_EQ(status_of(CUBLAS_STATUS_ALLOC_FAILED).code, StatusCode::kOutOfMemory);
  EXPECT_EQ(status_of(CUBLAS_STATUS_INVALID_VALUE).code, StatusCode::kInvalidArgument);
  EXPECT_EQ(status_of(CUBLAS_STATUS_NOT_SUPPORTED).code, StatusCode::kUnsupported);
  EXPECT_EQ(status_of(CUBLAS_STATUS_EXECUTION_FAILED).code, StatusCode::kDeviceError);
  EXPECT_STREQ(status_of(CUBLAS_STATUS_EXECUTION_FAILED).message,
               cublasGetStatusString(CUBLAS_STATUS_EXECUTION_FAILED));
}

}  // namespace
}  // namespace vellum::cuda
