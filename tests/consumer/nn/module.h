#ifndef CONSUMER_NN_MODULE_H_
#define CONSUMER_NN_MODULE_H_

// The dependent's own header, at a path that Vellum has as well.
namespace consumer {

struct Module {
  int hidden = 16;
  int steps = 200;
};

}  // namespace consumer

#endif  // CONSUMER_NN_MODULE_H_
