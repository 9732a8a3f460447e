"""Model.fit(): the hooks of callbacks, in their order."""


class Model:
    def fit(self, batches, epochs, callbacks):
        def call(hook, *arguments):
            for callback in callbacks:
                getattr(callback, hook)(*arguments)

        call("on_train_begin")
        for epoch in range(epochs):
            call("on_epoch_begin", epoch)
            for batch in range(batches):
                call("on_train_batch_begin", batch)
                call("on_train_batch_end", batch)
            call("on_test_begin")
            call("on_test_end")
            call("on_epoch_end", epoch)
        call("on_train_end")
