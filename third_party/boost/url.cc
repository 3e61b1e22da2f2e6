// Boost.URL in its header-only form asks one file of the program to hold the compiled part.
#include <boost/url/src.hpp>
