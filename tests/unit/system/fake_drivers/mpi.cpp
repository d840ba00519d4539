// A library that has its version where an MPI's has it: FAKE_MPI_SYMBOL is exported, FAKE_MPI_TEXT is a
// constant.
extern "C" {
extern const char FAKE_MPI_SYMBOL[];
const char FAKE_MPI_SYMBOL[] = FAKE_MPI_VERSION;
const char* fake_mpi_text() {
  return FAKE_MPI_TEXT;
}
}
